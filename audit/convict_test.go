package audit

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/search"
	"lockpick/workload"
)

// "make nightly" audits each lock in all situations.
var whole = flag.Bool("audit.whole", false, "audit every lock with the whole battery, as lockpick audit does")

// conviction is what gives a lock away that is wrong on purpose: a property that is broken in a situation.
type conviction struct {
	lock      string
	situation string
	property  checker.Property
}

var ownRefusals = checker.ContentionProperties[1]

// convictions has each lock that is wrong on purpose, for its reason and at its level.
var convictions = []conviction{
	{"setnx", "dead-holder", checker.DeadlockFree},
	{"setnx", "hung-holder", checker.HolderLoss},
	{"setnx-expire", "dead-between", checker.DeadlockFree},
	{"set-del", "stopped-inside", checker.OwnKeys},
	{"set-del", "stopped-inside", checker.MutualExclusion},
	{"set-del", "released-twice", checker.OwnKeys},
	{"set-get-del", "stopped-between", checker.OwnKeys},
	{"set-get-del", "stopped-between", checker.MutualExclusion},
	{"set-broken-lua", "quiet", checker.OrphanKeys},
	{"set-driver-retries", "lost-replies", checker.OrphanKeys},
	{"redlock-time-token", "quiet", checker.OwnKeys},
	{"redlock-late-start", "slow-links", checker.MutualExclusion},
	{"redlock-one-token", "script-cache", checker.MutualExclusion},
	{"redlock-fence-incr", "fenced", checker.FencingMonotone},
	{"redlock-extend-acquires", "extended", checker.MutualExclusion},
	{"redlock-driver-retries", "lost-messages", ownRefusals},
	{"redlock-evalsha", "script-cache", checker.OrphanKeys},
	{"redisson-redlock", "stopped-between", checker.MutualExclusion},
	{"redisson-resending", "lost-replies", checker.Availability},
	{"redisson-watchdog", "cut-off-holder", checker.BeliefExclusion},
	{"redisson-late-watchdog", "quiet", checker.OwnKeys},
	{"redlock-reachable-quorum", "two-halves", checker.MutualExclusion},
	{"redlock-extend-lies", "cut-off-holder", checker.MutualExclusion},
	{"redlock-no-validity", "stopped-acquiring", checker.DeadOnArrival},
	{"redlock-one-start", "long-waits", checker.QuorumGranted},
	{"redlock-extend-late", "slow-extension", checker.Extension},
	{"redlock-extend-recreates", "extend-after-stop", checker.Continuity},
	{"redlock-extend-recreates", "extend-after-stop", checker.Extension},
	{"redlock-always-valid", "overrun", checker.BeliefExclusion},
	{"redlock-always-valid", "overrun", checker.Notified},
	{"redlock-release-believed", "lost-replies", checker.OrphanKeys},
	{"redlock-no-rollback", "quiet", checker.OrphanKeys},
	{"redlock-minority-error", "minority-down", checker.MinorityFailure},
	{"redlock-setnx-expire", "dead-between", checker.DeadlockFree},
	{"redlock-get-del", "stopped-between", checker.MutualExclusion},
	{"redlock-plain-del", "quiet", checker.OwnKeys},
	{"redlock-plain-del", "quiet", checker.MutualExclusion},
	{"redlock-plain-del", "released-twice", checker.OwnKeys},
	{"redlock-weak-token", "quiet", checker.OwnKeys},
	{"redlock-weak-token", "quiet", checker.MutualExclusion},
	{"redlock-wall-clock", "client-clock-steps", checker.MutualExclusion},
	{"redlock-quorum-half", "two-halves", checker.MutualExclusion},
	{"redlock-no-drift", "master-drift", checker.MutualExclusion},
	{"redlock-fixed-delay", "far-apart", checker.Progress},
	{"redlock-release-overtakes", "reordered-messages", checker.OrphanKeys},
	{"redlock-cancelled-release", "cancelled", checker.OrphanKeys},
	{"redlock-renews-forever", "hung-holder", checker.HolderLoss},
	{"redlock-renews-untold", "cut-off-holder", checker.BeliefExclusion},
	{"redlock-renews-untold", "cut-off-holder", checker.Notified},
	{"redlock-waits-for-all", "minority-hangs", checker.MinorityFailure},
	{"redlock-shared-token", "shared-lock", checker.OwnKeys},
	{"redlock-shared-token", "shared-lock", checker.MutualExclusion},
	{"redlock-process-token", "shared-process", checker.OwnKeys},
	{"redlock-process-token", "shared-process", checker.MutualExclusion},
	{"redlock-extend-released", "extended-after-release", checker.OrphanKeys},
	{"redlock-extend-released", "extended-after-release", checker.Extension},
	{"redlock-own-is-granted", "acquired-again", checker.MutualExclusion},
	{"redlock-reuses-cancelled", "cancelled-release", checker.MutualExclusion},
	{"rw-short-reader", "quiet", checker.MutualExclusion},
	{"rw-reader-frees-writer", "stopped-inside", checker.MutualExclusion},
	{"rw-downgrade-gap", "modes-change", checker.MutualExclusion},
	{"rw-upgrade-joins", "quiet", checker.MutualExclusion},
	{"rw-upgrade-joins", "modes-change", checker.MutualExclusion},
	{"semaphore-declared-anew", "quiet", checker.MutualExclusion},
	{"semaphore-returned-twice", "stopped-inside", checker.MutualExclusion},
	{"reentrant-inner-frees", "quiet", checker.MutualExclusion},
	{"reentrant-inner-shortens", "quiet", checker.MutualExclusion},
	{"rw-short-reader", "many-readers", checker.MutualExclusion},
	{"rw-short-reader", "many-writers", checker.MutualExclusion},
	{"rw-short-reader", "dead-reader", checker.MutualExclusion},
	{"semaphore-declared-anew", "permits", checker.MutualExclusion},
	{"semaphore-declared-anew", "permits-return", checker.MutualExclusion},
	{"semaphore-declared-anew", "dead-holders", checker.MutualExclusion},
	{"reentrant-inner-frees", "nested", checker.MutualExclusion},
	{"multi-waits-holding", "several-keys", checker.Progress},
	{"multi-forgets-keys", "several-keys", checker.OrphanKeys},
	{"multi-key-missing", "several-keys", checker.MutualExclusion},
	{"multi-extends-first", "several-keys", checker.MutualExclusion},
	{"fair-one-token", "paused-masters", checker.MutualExclusion},
	{"fair-barging", "quiet", checker.Fairness},
	{"redlock-missed-wakeup", "long-waits", checker.WakeUp},
	{"redlock-renews-blindly", "cut-off-holder", checker.MutualExclusion},
	{"redlock-drops-masters", "majority-down", checker.Availability},
	{"redlock-drops-masters", "failover", checker.Availability},
	{"redlock-drops-masters", "restart-forgets", checker.Availability},
	{"redlock-release-unchecked", "cut-off-holder", checker.Released},
	{"redlock-whole-seconds", "odd-ttl", checker.MinValidity},
	{"redlock-whole-seconds", "odd-ttl", checker.MutualExclusion},
	{"redlock-extends-whole-seconds", "odd-ttl", checker.MutualExclusion},
	{"redlock-ttl-overflows", "long-ttl", checker.MutualExclusion},
	{"redlock-key-cut", "odd-names", checker.OrphanKeys},
	{"redlock-key-braces", "odd-names", checker.OrphanKeys},
	{"redlock-abandons", "deadlines", checker.Progress},
	{"redlock-local-mutex", "deadlines", checker.Availability},
	{"redlock-renews-patiently", "cut-off-holder", checker.MutualExclusion},
	{"redlock-tells-late", "cut-off-holder", checker.Notified},
	{"redlock-one-waiter", "shared-lock", checker.WakeUp},
	{"redlock-no-delay", "far-apart", checker.Progress},
	{"redlock-quoted-seconds", "odd-names", checker.MinValidity},
	{"redlock-quoted-seconds", "odd-names", checker.MutualExclusion},
}

// TestEveryPlantedBugHasAConviction: no lock that is wrong on purpose is left out of the table.
func TestEveryPlantedBugHasAConviction(t *testing.T) {
	for _, k := range workload.Locks {
		if k.Twin != "" && !slices.ContainsFunc(convictions, func(c conviction) bool { return c.lock == k.Name }) {
			t.Errorf("%s is wrong on purpose, and nothing says in which situation an audit shows it", k.Name)
		}
	}
}

// TestSituationsOfOneKindAreForLocksOfThatKind: a mutex has no row for readers, and one that was asked for says why it is empty.
func TestSituationsOfOneKindAreForLocksOfThatKind(t *testing.T) {
	battery := Battery()
	over, cancel := context.WithCancel(t.Context())
	cancel() // no schedule is tried: this is about the rows
	for kind, lock := range map[history.LockKind]string{history.Mutex: "single", history.ReadWrite: "rw", history.Semaphore: "semaphore", history.Reentrant: "reentrant", history.Multi: "multi"} {
		r, err := Run(over, Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Store: campaign.Store{Dir: t.TempDir()}}, Lock: lock})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rows) < 20 {
			t.Errorf("the card of %s has %d rows", lock, len(r.Rows))
		}
		for _, row := range r.Rows {
			situation := battery[slices.IndexFunc(battery, func(s Situation) bool { return s.ID == row.ID })]
			if situation.Kind != "" && situation.Kind != kind {
				t.Errorf("the card of %s has a row for %s, which is for a %s", lock, row.ID, situation.Kind.Words())
			}
		}
	}
	if got, want := audited(t, "single", 1, "permits").Rows[0].Skipped, "the lock is not a semaphore"; got != want {
		t.Errorf("the row says %q, want %q", got, want)
	}
}

// audited audits a lock on simulated masters.
func audited(t *testing.T, lock string, most int, only ...string) *Result {
	t.Helper()
	r, err := Run(t.Context(), Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: most, Store: campaign.Store{Dir: t.TempDir()}}, Lock: lock, Only: only})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outcome is that of a property in a situation.
func outcome(r *Result, situation, property string) Outcome {
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			for _, f := range c.Findings {
				if r.Rows[i].ID == situation && f.Property == property {
					return f.Outcome
				}
			}
		}
	}
	return NotApplicable
}

// acquit fails if anything is broken or inconclusive.
func acquit(t *testing.T, r *Result) {
	t.Helper()
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			for _, f := range c.Findings {
				if f.Outcome == Broken || f.Outcome == Inconclusive {
					t.Errorf("%s: %s: %s %s is %s: %s\n%v\n%s", r.Lock, r.Rows[i].ID, c.Level, f.Property, f.Outcome, f.Why, f.Reason, f.Command)
				}
			}
		}
	}
}

// TestPlantedBugsAreConvicted: each bug is found in its situation for its reason, and its twin
// is acquitted there. Few schedules do for most of them; make nightly audits all locks with all.
func TestPlantedBugsAreConvicted(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	const few = 3
	broken := func(t *testing.T, c conviction, most int) bool {
		return outcome(audited(t, c.lock, most, c.situation), c.situation, c.property.Name) == Broken
	}
	acquitted := map[string]bool{}
	tried := sampletest.Of(t, 16, 2)
	for i, c := range convictions {
		if !tried(i) {
			continue
		}
		t.Run(c.lock+"/"+c.property.Name, func(t *testing.T) {
			if !broken(t, c, few) && !broken(t, c, 4*few) && !broken(t, c, 0) {
				t.Errorf("%s in the situation %s is not broken", c.property.Name, c.situation)
			}
			kind, _ := workload.LockNamed(c.lock)
			if twin := kind.Twin + " " + c.situation; !acquitted[twin] {
				acquitted[twin] = true
				acquit(t, audited(t, kind.Twin, few, c.situation))
			}
		})
	}
}

// TestWholeAudits: audit alone convicts each lock that is wrong on purpose, for its reason, and
// acquits the locks that are meant to be right. It takes half an hour.
func TestWholeAudits(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	if !*whole {
		t.Skip("it takes half an hour: make nightly runs it (-audit.whole)")
	}
	var slowest time.Duration
	audit := func(t *testing.T, lock string) *Result {
		r := audited(t, lock, 0)
		t.Logf("%s: %s, %d schedules in %v", lock, r.Verdict(), r.Schedules, r.Took.Round(time.Second))
		slowest = max(slowest, r.Took)
		return r
	}
	for _, k := range workload.Locks {
		t.Run(k.Name, func(t *testing.T) {
			r := audit(t, k.Name)
			if k.Twin == "" {
				acquit(t, r)
				return
			}
			if r.Verdict() != checker.Violated {
				t.Errorf("the verdict is %s", r.Verdict())
			}
			for _, c := range convictions {
				if got := outcome(r, c.situation, c.property.Name); c.lock == k.Name && got != Broken {
					t.Errorf("%s in the situation %s is %s, want broken", c.property.Name, c.situation, got)
				}
			}
		})
	}
	t.Logf("the slowest took %v", slowest)
}

// TestFewSchedulesConvictAndAcquit is the short and deterministic part: the same card for the
// same seed, whatever the number of workers.
func TestFewSchedulesConvictAndAcquit(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates some schedules")
	}
	only := []string{"overrun", "restart-forgets", "restart-remembers", "stopped-inside", "minority-hangs"}
	var cards []*Result
	for _, workers := range []int{1, 4} {
		r, err := Run(t.Context(), Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 1, Workers: workers, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "redlock-plain-del", Only: []string{"overrun", "far-apart"}})
		if err != nil {
			t.Fatal(err)
		}
		cards = append(cards, r.Baseline())
	}
	if changes := cards[0].Compare(cards[1]); len(changes) > 0 {
		t.Errorf("the card depends on the number of workers: %+v", changes)
	}
	if got := outcome(cards[0], "overrun", checker.OwnKeys.Name); got != Broken {
		t.Errorf("a release without the token is %s where work takes long", got)
	}
	r := audited(t, "textbook", 1, only...)
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			if c.Outcome == Broken {
				t.Errorf("textbook: %s: %s is broken: %+v", r.Rows[i].ID, c.Level, c.Worst())
			}
		}
	}
	if got := outcome(r, "restart-forgets", checker.MutualExclusion.Name); got != Inherent {
		t.Errorf("mutual exclusion is %s where masters forget, want inherent", got)
	}
	if got := outcome(r, "stopped-inside", checker.BeliefExclusion.Name); got != Inherent {
		t.Errorf("belief exclusion is %s where clients stop, want inherent", got)
	}
	if got := outcome(r, "restart-remembers", checker.MutualExclusion.Name); got != Safe {
		t.Errorf("mutual exclusion is %s where masters remember, want safe", got)
	}
}
