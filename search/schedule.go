package search

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// ExplicitSchedule returns the faults that struck in a run as a schedule: each with its time, masters and
// clients, whether a nemesis chose them or words and triggers of a schedule did.
func ExplicitSchedule(h *history.History, s scenario.Scenario) []scenario.Step {
	var steps []scenario.Step
	for _, f := range history.Faults(h.Ops) {
		if f.Installed {
			steps = append(steps, StepOf(f, h, s))
		}
	}
	return steps
}

// StepOf returns the step of a schedule that repeats a recorded fault.
func StepOf(f *history.Fault, h *history.History, s scenario.Scenario) scenario.Step {
	step := scenario.Step{
		Fault: f.Name, At: f.Began, For: f.To - f.From, Masters: f.Masters, Clients: f.Clients,
		Mode: cluster.Mode(f.Params["mode"]), Direction: f.Params["direction"], Point: f.Params["point"], Clock: f.Params["clock"],
	}
	step.Delay, _ = time.ParseDuration(f.Params["delay"])
	kind := fault.Of(f.Name)
	switch {
	case kind.EndsMaster():
		step.For, _ = time.ParseDuration(f.Params["restart-delay"])
	case kind.Clock == fault.MasterClock && !f.Healed:
		step.For = 24 * time.Hour
	case kind.Clock == fault.MasterClock:
		// Correcting a clock that is behind is a jump forward, which is a fault of its own.
		if c, _, _ := nemesis.ParseClock(step.Clock); c.Offset < 0 || c.Rate > 0 {
			step.For = 24 * time.Hour
		}
	}
	if kind.Accepts(fault.Strict) {
		step.Strict, step.Torn = s.Strict, s.Torn
		for _, x := range s.Schedule {
			step.Strict, step.Torn = step.Strict || x.Strict, step.Torn || x.Torn
		}
	}
	if kind.Hits == fault.Clients && len(f.Clients) == 0 {
		step.Clients = struckClients(f, h)
	}
	if outage := f.Params["outage"]; outage != "" {
		step.Outage, _ = time.ParseDuration(outage)
		step.SplitBrain = f.Params["split-brain"] != ""
	}
	if kind.AtOnce() && f.Params["aim"] == scenario.Guided {
		// The fault struck as soon as the lease was granted. A step without a trigger waits for a master's
		// next vote, so it must begin earlier.
		for i := range h.Ops {
			if op := &h.Ops[i]; op.F == history.FAcquire && op.Type == history.OK && op.Time <= f.Began {
				step.At = max(0, op.Time-10*time.Millisecond)
			}
		}
	}
	if kind.HitsMaster() && !step.SplitBrain {
		step.Clients = nil
	}
	return step
}

// struckClients returns the client that a fault without client names stopped or ended.
func struckClients(f *history.Fault, h *history.History) []string {
	for i := range h.Ops {
		op := &h.Ops[i]
		stopped := op.F == history.FPaused && op.Type == history.Invoke || op.F == history.FCrash
		if stopped && op.Time >= f.From && op.Time <= f.To && op.Value != nil && op.Value.Point == f.Params["point"] {
			return []string{op.Process}
		}
	}
	return nil
}

var stepTrigger = regexp.MustCompile(`^step (\d+)( heals)?$`)

// WithoutStep returns the scenario without step i, from 0. Steps that it triggered get its time or its
// trigger.
func WithoutStep(s scenario.Scenario, i int) scenario.Scenario {
	gone := s.Schedule[i]
	if m := stepTrigger.FindStringSubmatch(gone.After); m != nil {
		switch n, _ := strconv.Atoi(m[1]); {
		case n == i+1: // the step is its own trigger
			gone.After = ""
		case n > i+1:
			gone.After = fmt.Sprintf("step %d%s", n-1, m[2])
		}
	}
	steps := slices.Delete(slices.Clone(s.Schedule), i, i+1)
	for j := range steps {
		m := stepTrigger.FindStringSubmatch(steps[j].After)
		if m == nil {
			continue
		}
		switch n, _ := strconv.Atoi(m[1]); {
		case n == i+1:
			wait := steps[j].Plus
			if m[2] != "" {
				wait += gone.For
			}
			steps[j].After, steps[j].At, steps[j].Plus, steps[j].Repeat = gone.After, 0, gone.Plus+wait, steps[j].Repeat && gone.Repeat
			if gone.After == "" {
				steps[j].At, steps[j].Plus = gone.At+wait, 0
			}
		case n > i+1:
			steps[j].After = fmt.Sprintf("step %d%s", n-1, m[2])
		}
	}
	s.Schedule = steps
	return s
}

// WithStep returns the scenario with step i, from 0, changed.
func WithStep(s scenario.Scenario, i int, change func(*scenario.Step)) scenario.Scenario {
	s.Schedule = slices.Clone(s.Schedule)
	change(&s.Schedule[i])
	return s
}

// RestrictTo returns the scenario with only the named clients, masters and keys, renamed to the first names
// of their kind. Steps without a remaining target are removed.
func RestrictTo(s scenario.Scenario, clients, masters, keys []string) scenario.Scenario {
	renamed := map[string]string{}
	for _, x := range []struct {
		kept  []string
		first []string
	}{{clients, workload.Clients(len(clients))}, {masters, workload.MasterNames(len(masters))}, {keys, workload.Keys(len(keys))}} {
		for i, name := range x.kept {
			renamed[name] = x.first[i]
		}
	}
	words := append([]string{nemesis.Any, nemesis.Holder}, nemesis.Targets...)
	rename := func(names []string) []string {
		var out []string
		for _, n := range names {
			if slices.Contains(words, n) {
				out = append(out, n)
			} else if to, ok := renamed[n]; ok {
				out = append(out, to)
			}
		}
		slices.SortFunc(out, history.CompareNames)
		return out
	}
	s.Clients, s.Masters, s.Keys = len(clients), len(masters), len(keys)
	var arrivals []workload.Arrival
	for _, a := range s.Arrivals {
		client, ok := renamed[a.Client]
		key, known := renamed[cmp.Or(a.Key, workload.Keys(1)[0])]
		if ok && known {
			a.Client, a.Key = client, key
			arrivals = append(arrivals, a)
		}
	}
	s.Arrivals = arrivals
	s.Schedule = slices.Clone(s.Schedule)
	for i := len(s.Schedule) - 1; i >= 0; i-- {
		step := s.Schedule[i]
		m, c := rename(step.Masters), rename(step.Clients)
		if len(step.Masters) > 0 && len(m) == 0 || len(step.Clients) > 0 && len(c) == 0 {
			s = WithoutStep(s, i)
			continue
		}
		s.Schedule[i].Masters, s.Schedule[i].Clients = m, c
		if words := strings.Fields(step.After); len(words) == 3 && words[0] != "step" {
			for _, j := range []int{0, 2} {
				if words[j] == nemesis.Any {
					continue
				}
				to, ok := renamed[words[j]]
				if !ok {
					to = nemesis.Any
				}
				words[j] = to
			}
			s.Schedule[i].After = strings.Join(words, " ")
		}
	}
	return s
}
