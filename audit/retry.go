package audit

import (
	"context"
)

// Retry tries some situations once more, with other random choices, and takes what that decides for the cells that
// were inconclusive. The evidence is added to the result's folder.
func (r *Result) Retry(ctx context.Context, opt Options, ids []string) error {
	opt.Only, opt.Seed, opt.folder, opt.Resume = ids, opt.Seed+1, r.Folder, false
	again, err := Run(ctx, opt)
	if err != nil {
		return err
	}
	for i := range again.Rows {
		for j := range r.Rows {
			if row := &r.Rows[j]; row.ID == again.Rows[i].ID {
				row.take(&again.Rows[i])
			}
		}
	}
	r.Schedules, r.Leases, r.Errors, r.Took = r.Schedules+again.Schedules, r.Leases+again.Leases, r.Errors+again.Errors, r.Took+again.Took
	return r.write()
}

// take replaces the inconclusive cells of a row by those of another try that are not.
func (r *Row) take(again *Row) {
	for i := range r.Cells {
		if c := again.cell(r.Cells[i].Level); c != nil && r.Cells[i].Outcome == Inconclusive && c.Outcome != Inconclusive && c.Outcome != NotApplicable {
			r.Cells[i] = *c
		}
	}
	r.Schedules, r.Leases = r.Schedules+again.Schedules, r.Leases+again.Leases
	r.Errors = append(r.Errors, again.Errors...)
}
