package checker_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
)

var (
	oracleHistories = sampletest.Flag("oracle.histories", 2_500, 2, 1, "random histories on which the checkers and the oracle are compared")
	oracleSeed      = flag.Uint64("oracle.seed", 0, "seed of these histories; 0: that in ORACLE_SEED, or else a fresh one")
)

// oracleOf holds the oracle's judge of each property, by the property's name.
var oracleOf = map[string]func(*oracle) finding{
	"unique-tokens": (*oracle).uniqueTokens, "quorum": (*oracle).quorum, "min-validity": (*oracle).minValidity,
	"key-lifetime": (*oracle).keyLifetime, "own-keys": (*oracle).ownKeys,
	"mutual-exclusion": (*oracle).mutualExclusion, "dead-on-arrival": (*oracle).deadOnArrival,
	"belief-exclusion": (*oracle).beliefExclusion, "notified": (*oracle).notified,
	"no-stale-write": (*oracle).noStaleWrite, "fenced-writes": (*oracle).fencedWrites, "no-lost-update": (*oracle).noLostUpdate,
	"fencing-monotone": (*oracle).fencingMonotone, "extension": (*oracle).extension, "continuity": (*oracle).continuity,
	"deadlock-freedom": (*oracle).deadlockFreedom, "holder-loss": (*oracle).holderLoss,
	"availability": (*oracle).availability, "minority-failure": (*oracle).minorityFailure, "progress": (*oracle).progress, "wake-up": (*oracle).wakeUp,
	"quorum-granted": (*oracle).quorumGranted, "fairness": (*oracle).fairness, "released": (*oracle).released, "orphan-keys": (*oracle).orphanKeys, "ghost-keys": (*oracle).ghostKeys, "returns": (*oracle).returns, "no-crash": (*oracle).noCrash,
}

// seeded runs a rapid test on a number of histories of a seed, which it logs.
func seeded(t *testing.T, histories int, seed uint64, check func(*rapid.T)) {
	if seed == 0 {
		seed, _ = strconv.ParseUint(os.Getenv("ORACLE_SEED"), 10, 64)
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("%d histories of seed %d: go test ./checker -run %s -oracle.seed=%d", histories, seed, t.Name(), seed)
	// minimal shrinks histories line by line, which the library cannot do.
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(histories), "rapid.seed": strconv.FormatUint(seed, 10), "rapid.shrinktime": "0s", "rapid.nofailfile": "true"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(before) }()
	}
	rapid.Check(t, check)
}

// differs describes how the checker's result for a property differs from the oracle's opinion; it
// returns "" if it does not.
func differs(r *checker.Result, x opinion) string {
	if r == nil {
		if x.verdict == "" || x.verdict != checker.Violated && len(x.rows) > 0 && x.rows[0].got == 0 {
			return "" // the history has nothing that the property is about
		}
		return fmt.Sprintf("the checker has no verdict, the oracle says %q", x.verdict)
	}
	if x.verdict == "" {
		if r.Verdict != checker.Violated && len(r.Evidence) > 0 && r.Evidence[0].Got == 0 {
			return ""
		}
		return fmt.Sprintf("the checker says %s, the oracle that it was not tested", r.Verdict)
	}
	if r.Verdict != x.verdict {
		return fmt.Sprintf("the checker says %s (%s), the oracle %s on %v", r.Verdict, r.Why, x.verdict, x.keys)
	}
	if keys := violatedKeys(r); !slices.Equal(keys, x.keys) && r.Count == len(r.Violations) {
		return fmt.Sprintf("the checker finds violations on %v, the oracle on %v", keys, x.keys)
	}
	if x.found {
		return "" // after a violation, the judge may have stopped counting evidence
	}
	var got []row
	for _, e := range r.Evidence {
		got = append(got, row{e.Got, e.Need})
	}
	if len(got) > 0 && !slices.Equal(got, x.rows) {
		return fmt.Sprintf("the checker counts %v as evidence, the oracle %v", r.Evidence, x.rows)
	}
	return ""
}

func violatedKeys(r *checker.Result) []string {
	var keys []string
	for _, v := range r.Violations {
		keys = append(keys, v.Key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// compare judges a history by the checkers and the oracle. It returns the oracle's opinions and the
// differences.
func compare(h *history.History, o *oracle, only string) (map[string]opinion, string) {
	var properties []checker.Property
	for _, p := range checker.Properties {
		if oracleOf[p.Name] != nil && (only == "" || only == p.Name) {
			properties = append(properties, p)
		}
	}
	rep := checker.Check(h, properties...)
	if err := rep.Err(); err != nil {
		return nil, err.Error()
	}
	opinions := map[string]opinion{}
	var differences []string
	if err := checker.Retold(rep); err != nil {
		differences = append(differences, err.Error())
	}
	for _, p := range properties {
		x := o.conclude(oracleOf[p.Name](o))
		if slices.Contains(notOf[h.Header.Kind], p.Name) {
			x = opinion{}
		}
		opinions[p.Name] = x
		if d := differs(rep.Result(p), x); d != "" {
			differences = append(differences, p.Name+": "+d)
		}
	}
	return opinions, strings.Join(differences, "\n")
}

// minimal shrinks a history: it removes lines as long as the checker and the oracle still differ on
// a property in the same way.
func minimal(h *history.History, tick time.Duration, property string) *history.History {
	differ := func(h *history.History) string {
		_, d := compare(h, newOracle(h, tick), property)
		words := strings.Fields(d)
		return strings.Join(words[:min(len(words), 5)], " ")
	}
	want := differ(h)
	for size := max(len(h.Ops)/2, 1); ; {
		before := len(h.Ops)
		for from := 0; from < len(h.Ops); {
			less := &history.History{Header: h.Header}
			for i, op := range h.Ops {
				if i < from || i >= from+size {
					op.Index = len(less.Ops)
					less.Ops = append(less.Ops, op)
				}
			}
			if differ(less) == want {
				h = less
			} else {
				from += size
			}
		}
		switch {
		case size > 1:
			size = max(size/2, 1)
		case len(h.Ops) == before:
			return h
		}
	}
}

var (
	oracleProperty = flag.String("oracle.property", "", "compare this property only")
	oracleKind     = flag.String("oracle.kind", "", "draw histories of this kind of lock only")
)

// enough is the number of histories from which on the test judges the generator. fair is the
// fraction of these in which each property must be violated, must hold, and must be inconclusive.
const (
	enough = 10_000
	fair   = 0.0001
)

// On any history, the checkers decide as the definitions in docs/checking.md say.
func TestCheckersAgreeWithTheOracle(t *testing.T) {
	racetest.Exclude(t, "it judges thousands of random histories")
	verdicts := map[string]map[checker.Verdict]int{}
	kinds := map[history.LockKind]map[checker.Verdict]int{} // the verdicts on L2
	seeded(t, oracleHistories(), *oracleSeed, func(t *rapid.T) {
		h, tick := drawHistory(t)
		opinions, d := compare(h, newOracle(h, tick), *oracleProperty)
		if kind := h.Header.LockKind(); opinions[checker.MutualExclusion.Name].verdict != "" {
			if kinds[kind] == nil {
				kinds[kind] = map[checker.Verdict]int{}
			}
			kinds[kind][opinions[checker.MutualExclusion.Name].verdict]++
		}
		for name, x := range opinions {
			if verdicts[name] == nil {
				verdicts[name] = map[checker.Verdict]int{}
			}
			verdicts[name][x.verdict]++
		}
		if d == "" {
			return
		}
		property, _, _ := strings.Cut(d, ":")
		h = minimal(h, tick, property)
		_, d = compare(h, newOracle(h, tick), property)
		t.Fatalf("%s\n%s\n%s", d, checker.WriteHeader(h.Header), checker.WriteHistory(h))
	})
	for _, kind := range history.LockKinds {
		t.Logf("L2 of %-11s %v", kind, kinds[kind])
		for _, v := range []checker.Verdict{checker.Violated, checker.Holds, checker.Invalid} {
			if share := float64(kinds[kind][v]) / float64(oracleHistories()); share < fair && oracleHistories() >= enough && *oracleProperty+*oracleKind == "" {
				t.Errorf("L2 of a %s is %s in %d of %d histories: the generator is too weak", kind, v, kinds[kind][v], oracleHistories())
			}
		}
	}
	for _, p := range checker.Properties {
		found := verdicts[p.Name]
		if *oracleProperty == "" && oracleOf[p.Name] == nil {
			t.Errorf("the oracle does not know %s", p.Name)
		}
		t.Logf("%-18s %v", p.Name, found)
		for _, v := range []checker.Verdict{checker.Violated, checker.Holds, checker.Invalid} {
			if share := float64(found[v]) / float64(oracleHistories()); share < fair && oracleHistories() >= enough && found != nil && *oracleKind == "" {
				t.Errorf("%s is %s in %d of %d histories: the generator is too weak", p.Name, v, found[v], oracleHistories())
			}
		}
	}
}

// No safety property convicts a lock that breaks no rule, even if answers are late or missing: the
// definitions themselves are sound. The clients may be slower than their leases, so critical
// sections may overlap and writes may be stale.
func TestCorrectLocksConvictNobody(t *testing.T) {
	racetest.Exclude(t, "it judges thousands of random histories")
	seeded(t, max(1, oracleHistories()/10), *oracleSeed, func(t *rapid.T) {
		h := drawCorrect(t)
		rep := checker.Check(h)
		for _, r := range rep.Results {
			if r.Verdict == checker.Violated && slices.Contains([]string{"L1", "L2", "FM", "EXT"}, r.Level) || r.Name == checker.Notified.Name && r.Verdict == checker.Violated {
				t.Fatalf("%s is violated: %s\n%s\n%s", r.Name, r.Why, checker.WriteHeader(h.Header), checker.WriteHistory(h))
			}
		}
	})
}
