package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lockpick/checker"
)

// dimension is something in which uses of locks differ. A situation varies it; none does: no audit varies it.
type dimension struct {
	name       string
	situations []string // ids of those that vary it
}

// dimensions lists what the card says was not varied, if none of its situations was tried.
var dimensions = []dimension{
	{"TTLs", []string{"odd-ttl", "short-ttl", "long-ttl"}},
	{"names of keys", []string{"odd-names", "many-keys"}},
	{"how long callers wait", []string{"deadlines"}},
	{"many keys in one process", []string{"shared-process", "shared-lock"}},
	{"two failures at once", []string{"two-causes"}},
	{"the number of clients", []string{"crowd"}},
	{"the number of masters", []string{"numbers-of-masters"}},
	{"clocks", []string{"master-clock-forward", "master-clock-back", "master-drift", "client-clock-steps", "client-drift"}},
	{"more than thirty clients", nil},
	{"the version and the settings of Redis", nil},
}

// NotKnown says, in sentences without their full stops, what the audit could not see of the lock, and why.
func (r *Result) NotKnown() (says []string) {
	tooFew, untested := "", map[string]string{}
	for i := range r.Rows {
		tooFew = cmp.Or(tooFew, r.Rows[i].TooFew)
		maps.Copy(untested, r.Rows[i].Untested)
	}
	for _, p := range checker.Properties {
		if why := untested[p.Name]; why != "" && p.Leads {
			says = append(says, fmt.Sprintf("Not tested: %s, and all that rests on votes: %s", p.Level, why))
		}
	}
	if tooFew != "" {
		says = append(says, "How many masters a lease needs is not known: "+tooFew)
	}
	return says
}

// NotVaried returns the names of what the tried situations did not vary.
func (r *Result) NotVaried() []string {
	var names []string
	for _, d := range dimensions {
		if !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Schedules > 0 && slices.Contains(d.situations, row.ID) }) {
			names = append(names, d.name)
		}
	}
	return names
}
