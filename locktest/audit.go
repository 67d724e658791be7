package locktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/search"
)

// Audit tests the lock in the battery of situations of lockpick audit. It fails the test once for each
// property that the lock violates where a lock can be safe: the message names the situations, explains the
// violation, and names the stored run. It logs violations that are inherent, because an assumption is broken, and
// findings that are inconclusive. It uses the options Masters(1) (the lock lives on one master), Properties
// (levels or properties; default: all), Schedules (the most for each case), For (default: no limit), Seed, Fencing,
// Retry, Fair and RealRedis, and takes no others. With -short each case has one schedule.
func Audit(t *testing.T, make func(Env) (Lock, error), options ...Option) {
	t.Helper()
	store, err := os.MkdirTemp("", "lockpick-audit-")
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	card, properties := auditIn(t, store, make, options)
	reportCard(t, card, properties)
	if !t.Failed() {
		if err := os.RemoveAll(store); err != nil {
			t.Logf("locktest: %v", err)
		}
	}
}

// auditIn audits a lock and stores the evidence in a folder. properties are those that the options name.
func auditIn(t *testing.T, store string, make func(Env) (Lock, error), options []Option) (card *audit.Result, properties []string) {
	t.Helper()
	given := config{}
	for _, o := range options {
		o(&given)
	}
	if given.base.Masters > 1 {
		t.Fatalf("locktest: Audit tries several numbers of masters: Masters(1) says that the lock lives on one")
	}
	c := prepare(t, "Audit", usedByAudit, make, append(slices.Clone(options), Properties("L2")))
	r := &runner{t: t, real: c.real}
	opt := audit.Options{JobOptions: search.JobOptions{Driver: scenario.Virtual, Budget: search.Quick, Seed: c.base.Seed, Most: given.schedules, Store: campaign.Store{Dir: store}}, Lock: c.base.Lock, Only: given.only, One: given.base.Masters == 1, Run: r.run}
	if c.real {
		opt.Driver = scenario.Process
	}
	if *flagSchedules > 0 {
		opt.Most = *flagSchedules
	} else if testing.Short() {
		opt.Most = 1
	}
	opt.Wording = auditWording(opt.Most > 0)
	ctx := t.Context()
	if limit := max(given.time, *flagTime); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	card, err := audit.Run(ctx, opt)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.reportLeaks()
	return card, given.base.Properties
}

// reportCard fails the test once for each broken property, and logs the rest.
func reportCard(t testing.TB, card *audit.Result, properties []string) {
	t.Helper()
	safe := 0
	var inherent, open []string
	broken := map[string]*breakage{}
	var order []*breakage
	for i := range card.Rows {
		row := &card.Rows[i]
		for _, cell := range row.Cells {
			for j := range cell.Findings {
				f := &cell.Findings[j]
				if len(properties) > 0 && !slices.Contains(properties, cell.Level) && !slices.Contains(properties, f.Property) {
					continue
				}
				what := cell.Level + " " + f.Property
				switch f.Outcome {
				case audit.Broken:
					b := broken[what]
					if b == nil {
						b = &breakage{what: what, row: row, finding: f}
						broken[what] = b
						order = append(order, b)
					}
					b.rows = append(b.rows, row.Name)
				case audit.Inherent:
					inherent = append(inherent, row.Name+": "+what)
				case audit.Inconclusive:
					open = append(open, row.Name+": "+what+": "+f.Why)
				case audit.Safe:
					safe++
				}
			}
		}
	}
	for _, b := range order {
		t.Errorf("%s", b.text(card))
	}
	if len(inherent) > 0 {
		t.Logf("broken because an assumption is broken:\n    %s", strings.Join(inherent, "\n    "))
	}
	if len(open) > 0 {
		t.Logf("inconclusive:\n    %s", strings.Join(open, "\n    "))
	}
	for _, why := range card.NotKnown() {
		t.Log(why)
	}
	if card.Interrupted {
		t.Fatalf("the audit was interrupted after %d schedules: give it a longer For", card.Schedules)
	}
	t.Logf("%d situations, %d schedules, %d leases granted: safe in %d respects", len(card.Rows), card.Schedules, card.Leases, safe)
	if safe == 0 && len(order) == 0 {
		t.Fatalf("nothing was shown: the audit proves nothing about this lock")
	}
}

// breakage is a property that a lock violates, in one situation or more.
type breakage struct {
	what    string // level and name of the property
	row     *audit.Row
	finding *audit.PropertyResult // in the first situation
	rows    []string              // the names of all situations
}

func (x *breakage) text(card *audit.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is broken. In the situation %q (%s): %s\n", x.what, x.row.Name, x.row.Says, x.finding.Why)
	for _, step := range x.finding.Reason {
		fmt.Fprintf(&b, "    %s\n", step)
	}
	if len(x.rows) > 1 {
		fmt.Fprintf(&b, "also in: %s\n", strings.Join(x.rows[1:], ", "))
	}
	level, _, _ := strings.Cut(x.what, " ")
	for _, h := range judge.Explaining(card.Hints(), level) {
		fmt.Fprintf(&b, "likely cause, a hint from the lock's commands: %s\n", h)
	}
	if x.finding.Run != "" {
		dir := filepath.Join(card.Folder, x.finding.Run)
		fmt.Fprintf(&b, "run: %s (lockpick show makes an HTML page of it)\n", dir)
		fmt.Fprintf(&b, "scenario: %s (locktest.Replay runs it)", filepath.Join(dir, judge.ScenarioFile))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
