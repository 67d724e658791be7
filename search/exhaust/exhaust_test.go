package exhaust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
)

// TestExhaust tries small bounds: each planted bug that they can express is found, and
// the lock without it is not blamed. The arguments of exhaust are the flags of lockpick
// exhaust. How many states there are says that the search is the same on any machine.
func TestExhaust(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried, number := sampletest.Of(t, 4, 2), 0
	datadriven.RunTest(t, "testdata/exhaust.txt", func(t *testing.T, d *datadriven.TestData) string {
		b := boundsOf(t, d)
		if d.Cmd == "bounds" {
			if err := b.Check(); err != nil {
				return err.Error() + "\n"
			}
			return strings.Join(b.Describe(), "\n") + "\n" + b.Command() + "\n"
		}
		if number++; !tried(number) {
			return d.Expected
		}
		x, err := Run(t.Context(), Options{Bounds: b})
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		var out strings.Builder
		fmt.Fprintf(&out, "%s: %s\n%d states in %d runs\n", x.Verdict, x.Why, x.States, x.Runs)
		if v := x.Violation; v != nil {
			fmt.Fprintf(&out, "%d faults, at tick %d\n", x.Faults, x.At/b.Tick)
			for _, step := range v.Reason {
				fmt.Fprintf(&out, "  %s\n", step)
			}
		}
		return out.String()
	})
}

func boundsOf(t *testing.T, d *datadriven.TestData) Bounds {
	b := DefaultBounds()
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "lock":
			b.Lock = a.Vals[0]
		case "property":
			b.Property = a.Vals[0]
		case "persistence":
			b.Persistence = a.Vals[0]
		case "faults":
			b.Faults = a.Vals
		case "clock":
			b.Clock = a.Vals[0]
		case "client-orders":
			b.ClientOrders = true
		default:
			field := map[string]*int{
				"masters": &b.Masters, "clients": &b.Clients, "max-faults": &b.MaxFaults, "restart-delay": &b.Restart, "for": &b.For, "late": &b.Late,
				"ttl": &b.TTL, "timeout": &b.Timeout, "acquires": &b.Acquires, "stagger": &b.Stagger, "horizon": &b.Horizon,
			}[a.Key]
			if field == nil {
				d.Fatalf(t, "unknown argument %s", a.Key)
			}
			a.Scan(t, 0, field)
		}
	}
	return b
}

// TestNothingIsLeftOut: whatever schedule within the bounds is drawn, with the order of
// the processes at an instant drawn too, the search has seen how it ends. So neither the
// pruning of known states nor taking the processes in turn leaves anything out.
func TestNothingIsLeftOut(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried := sampletest.Of(t, 4, 2)
	for i, c := range []struct {
		name   string
		change func(*Bounds)
	}{
		{"kill", func(*Bounds) {}},
		{"kill two, later", func(b *Bounds) { b.MaxFaults, b.Restart, b.Horizon, b.Masters, b.Stagger = 2, 3, 5, 2, 0 }},
		{"late", func(b *Bounds) { b.Faults = []string{"late"} }},
		{"lost, quorum half", func(b *Bounds) { b.Faults, b.Lock, b.Masters = []string{"lost"}, "redlock-quorum-half", 2 }},
		{"partition", func(b *Bounds) { b.Faults, b.For = []string{"partition"}, 5 }},
		{"pause, fsync always", func(b *Bounds) {
			b.Faults, b.For, b.Horizon, b.Masters, b.Persistence = []string{"pause"}, 5, 8, 2, "always"
		}},
		{"kill and pause overlap", func(b *Bounds) {
			b.Faults, b.MaxFaults, b.For, b.Restart, b.Masters, b.Stagger, b.Horizon = []string{"kill", "pause", "clock"}, 2, 3, 2, 2, 0, 4
		}},
		{"client-pause", func(b *Bounds) { b.Faults, b.For = []string{"client-pause"}, 5 }},
		{"clock", func(b *Bounds) { b.Faults = []string{"clock"} }},
		{"orders at clients", func(b *Bounds) { b.Faults, b.ClientOrders, b.Masters, b.Stagger, b.Horizon = nil, true, 2, 1, 6 }},
		{"plain DEL", func(b *Bounds) { b.Faults, b.Lock, b.Acquires = nil, "redlock-plain-del", 2 }},
	} {
		if !tried(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := DefaultBounds()
			b.Stagger, b.TTL, b.Horizon = 1, 10, 10
			c.change(&b)
			s := newSearcher(Options{Bounds: b, Workers: 2})
			s.outcomes = map[string]bool{}
			if cut, err := s.search(t.Context()); cut != "" || err != nil {
				t.Fatal(cut, err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			seen := map[string]bool{}
			for range 1000 {
				x := &execution{b: &b, strikes: b.strikes(), anyProcessFirst: true, continueAfterViolation: true}
				x.draw = func(n int, costs bool) int {
					if costs && random.IntN(20) > 0 {
						return 0 // else all faults would strike at once, at the beginning
					}
					return random.IntN(n)
				}
				if err := x.toItsEnd(); err != nil {
					t.Fatal(err)
				}
				outcome := strings.Join(x.outcome, ";")
				seen[outcome] = true
				if !s.outcomes[outcome] {
					t.Fatalf("a drawn schedule ends as no schedule of the search does:\n%s\nits choices: %v\nthe search knows %d ends", outcome, x.taken, len(s.outcomes))
				}
			}
			t.Logf("%d states, %d ends, of which 1000 drawn schedules came to %d", len(s.first), len(s.outcomes), len(seen))
			if len(seen) < 2 {
				t.Errorf("the drawn schedules all end alike: they try nothing")
			}
		})
	}
}

// TestStatesSaveWorkAlone: without remembering any state the search finds the same ends.
func TestStatesSaveWorkAlone(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	b := DefaultBounds()
	b.Masters, b.Horizon, b.Persistence = 2, 10, "always"
	with := newSearcher(Options{Bounds: b, Workers: 1})
	with.outcomes = map[string]bool{}
	if cut, err := with.search(t.Context()); cut != "" || err != nil {
		t.Fatal(cut, err)
	}
	without := map[string]bool{}
	runs := 0
	open := [][]uint8{nil}
	for len(open) > 0 {
		path := open[len(open)-1]
		open = open[:len(open)-1]
		x := &execution{b: &b, strikes: b.strikes(), path: path, continueAfterViolation: true}
		if err := x.toItsEnd(); err != nil {
			t.Fatal(err)
		}
		runs++
		without[strings.Join(x.outcome, ";")] = true
		for _, p := range x.points {
			for choice := uint8(1); choice < p.n; choice++ {
				open = append(open, append(append([]uint8(nil), x.taken[:p.depth]...), choice))
			}
		}
	}
	t.Logf("%d runs without states, %d with: %d ends", runs, with.runs, len(without))
	if fmt.Sprint(without) != fmt.Sprint(with.outcomes) {
		t.Errorf("without states there are the ends\n%v\nwith states\n%v", without, with.outcomes)
	}
	if runs < 2*with.runs {
		t.Errorf("remembering states saved little: %d runs instead of %d", with.runs, runs)
	}
}

// TestExhaustIsTheSameOnAnyProcessor: what is found does not depend on the workers.
func TestExhaustIsTheSameOnAnyProcessor(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	said := func(workers int) string {
		x, err := Run(t.Context(), Options{Bounds: DefaultBounds(), Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(x.States, x.Runs, x.Steps, x.Faults, x.At, x.Violation.Reason)
	}
	if one, three := said(1), said(3); one != three {
		t.Errorf("one worker:\n%s\nthree:\n%s", one, three)
	}
}

// TestExhaustThatIsCutShort: its verdict is unknown, never that it holds.
func TestExhaustThatIsCutShort(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	b := DefaultBounds()
	b.Persistence = "always"
	ended, end := context.WithCancel(t.Context())
	end()
	for name, e := range map[string]struct {
		ctx context.Context
		e   Options
		why string
	}{
		"states":      {t.Context(), Options{Bounds: b, MaxStates: 100}, "the limit of 100 states"},
		"time":        {t.Context(), Options{Bounds: b, TimeLimit: 1}, "the time limit of 1ns"},
		"interrupted": {ended, Options{Bounds: b}, "interrupted"},
	} {
		x, err := Run(e.ctx, e.e)
		if err != nil {
			t.Fatal(err)
		}
		if x.Verdict != checker.Unknown || !strings.HasPrefix(x.Why, e.why) {
			t.Errorf("%s: %s: %s", name, x.Verdict, x.Why)
		}
	}
}

func TestBoundsThatAreWrong(t *testing.T) {
	for field, change := range map[string]func(*Bounds){
		"lock": func(b *Bounds) { b.Lock = "padlock" }, "persistence": func(b *Bounds) { b.Persistence = "some" }, "faults": func(b *Bounds) { b.Faults = []string{"fire"} },
		"clock": func(b *Bounds) { b.Clock = "~5s" }, "tick": func(b *Bounds) { b.Tick = time.Second }, "masters": func(b *Bounds) { b.Masters = 0 }, "clients": func(b *Bounds) { b.Clients = 9 },
		"timeout": func(b *Bounds) { b.Timeout = 99 }, "for": func(b *Bounds) { b.For = 0 },
	} {
		b := DefaultBounds()
		change(&b)
		_, err := Run(t.Context(), Options{Bounds: b})
		var p *scenario.Problem
		if !errors.As(err, &p) || cmp.Or(p.Field, "") != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestRunsWithTheSameStateGoOnAlike: a search knows one path to each state and where the choices
// there lead. By other paths to the same states, which it has not followed, they lead to the
// same.
func TestRunsWithTheSameStateGoOnAlike(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried, number := sampletest.Of(t, 5, 2), 0
	for name, change := range map[string]func(*Bounds){
		"two kills":     func(b *Bounds) { b.MaxFaults, b.Persistence, b.Stagger = 2, "always", 0 },
		"late and lost": func(b *Bounds) { b.Faults = []string{"late", "lost"} },
		"kill, cut, clock": func(b *Bounds) {
			b.Faults, b.MaxFaults, b.For, b.Restart, b.Stagger, b.Horizon = []string{"kill", "partition", "clock"}, 2, 3, 2, 0, 4
		},
		"client-pause":      func(b *Bounds) { b.Faults, b.For = []string{"client-pause"}, 5 },
		"orders at clients": func(b *Bounds) { b.Faults, b.ClientOrders, b.Stagger, b.Horizon = nil, true, 1, 6 },
	} {
		if number++; !tried(number) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e := Options{Bounds: DefaultBounds()}
			e.Bounds.Masters, e.Bounds.Horizon = 2, 10
			change(&e.Bounds)
			s, err := e.begin()
			if err == nil {
				_, err = s.search(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			tried := 0
			for i, path := range s.lastPaths() {
				for choice, want := range s.targets[s.first[i]:s.end(i)] {
					var at target
					x := &execution{b: &e.Bounds, strikes: e.Bounds.strikes(), path: append(slices.Clone(path), uint8(choice))}
					x.known = func(p state) bool {
						at = target(len(s.first)) + 1
						if j, known := s.index[p]; known {
							at = target(j + 1)
						}
						return true
					}
					if err := x.toItsEnd(); err != nil {
						t.Fatal(err)
					}
					if tried++; at != want && want != toViolation {
						t.Fatalf("state %d, to which %v leads: choice %d leads to state %d, by the first path to %d of %d", i, path, choice, at-1, want-1, len(s.first))
					}
				}
			}
			t.Logf("%d states, %d choices", len(s.first), tried)
		})
	}
}

// lastPaths returns a path to each state: the one that comes first if the last possibility of
// each choice is tried first. A search prefers the first possibility.
func (s *searcher) lastPaths() [][]uint8 {
	paths := make([][]uint8, len(s.first))
	var walk func(i int, path []uint8)
	walk = func(i int, path []uint8) {
		if paths[i] != nil {
			return
		}
		paths[i] = append([]uint8{}, path...)
		for slot := s.end(i) - 1; slot >= s.first[i]; slot-- {
			if t := s.targets[slot]; t != 0 && t != toViolation {
				walk(int(t)-1, append(slices.Clone(path), uint8(slot-s.first[i])))
			}
		}
	}
	walk(0, nil)
	return paths
}
