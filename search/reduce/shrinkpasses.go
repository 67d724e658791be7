package reduce

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/search"
	"lockpick/workload"
)

// shrink makes the best scenario smaller until no pass changes it. It reports whether it tested that each
// remaining fault is necessary.
func (k *shrinker) shrink() (minimal bool) {
	k.measure()
	for !k.outOfTime() {
		k.faults()
		k.measure()
		for k.clients() || k.masters() || k.keys() || k.targets() {
		}
		k.measure()
		k.work()
		k.simplifySteps()
		k.times()
		k.triggers()
		k.times()
		k.measure()
		k.amplify()
		for k.clients() { // at a higher rate, fewer clients may be enough
		}
		k.times()
		k.measure()
		if !k.necessary() {
			continue // the smaller scenario still violates it: continue from there
		}
		return !k.outOfTime()
	}
	return false
}

// necessary reports whether each fault is needed: without any one of them, fewer than least seeds violate the
// property. If not, the smaller scenario becomes the best one.
func (k *shrinker) necessary() bool {
	for i := range k.best.Schedule {
		c := search.WithoutStep(k.best, i)
		if k.keep(c, k.least()) {
			return false
		}
		if k.least() > 1 && !k.rarely {
			hits, _ := k.sample(c, 1)
			k.rarely = hits > 0
		}
	}
	return !k.outOfTime()
}

// faults removes faults: delta debugging (ddmin) over the steps of the schedule.
func (k *shrinker) faults() {
	for parts := 1; !k.outOfTime(); {
		n := len(k.best.Schedule)
		parts = min(parts, n)
		size := 0
		if parts > 0 {
			size = (n + parts - 1) / parts
		}
		smaller := false
		for from := 0; size > 0 && from < n && !smaller && !k.outOfTime(); from += size {
			c := k.best
			for i := min(from+size, n) - 1; i >= from; i-- {
				c = search.WithoutStep(c, i)
			}
			smaller = k.keep(c, k.least())
		}
		switch {
		case n == 0 || size == 1 && !smaller:
			return
		case smaller:
			parts = max(parts-1, 1)
		default:
			parts *= 2
		}
	}
}

// required returns how often a smaller scenario must violate the property: half as often as the best. One
// that hardly ever does is not an improvement.
func (k *shrinker) required() int { return (k.rate + 1) / 2 }

// least returns how often a scenario with fewer faults must violate the property. In the simulator once is
// enough, because the same seed does it again, and amplify raises the rate. A Runner may give different runs
// for one seed, so there the rate must be 1 in 20, or half of the best's if that is less.
func (k *shrinker) least() int {
	if k.how.Run == nil {
		return 1
	}
	return min(k.required(), max(1, len(k.seeds)/20))
}

// leastClients returns how often a scenario with fewer clients must violate the property: in the simulator
// half as often as the best one.
func (k *shrinker) leastClients() int {
	if k.how.Run == nil {
		return k.required()
	}
	return k.least()
}

// clients removes all clients without a part in the violation, then one client at a time.
func (k *shrinker) clients() bool {
	if k.how.OnlyFaults {
		return false
	}
	n := k.best.Clients
	masters, keys := workload.MasterNames(k.best.Masters), workload.Keys(k.best.Keys)
	if part := distinct(k.found.Clients); len(part) > 0 && len(part) < n && k.keep(search.RestrictTo(k.best, part, masters, keys), k.leastClients()) {
		return true
	}
	for i := n - 1; i >= 0 && n > 1 && !k.outOfTime(); i-- {
		if k.keep(search.RestrictTo(k.best, slices.Delete(workload.Clients(n), i, i+1), masters, keys), k.leastClients()) {
			return true
		}
	}
	return false
}

// masters removes two masters at a time, so that their number stays even or odd. It keeps at least three, the
// smallest number that tolerates the failure of one.
func (k *shrinker) masters() bool {
	if k.how.OnlyFaults {
		return false
	}
	n := k.best.Masters
	clients, keys := workload.Clients(k.best.Clients), workload.Keys(k.best.Keys)
	for i := n - 1; i > 0 && n >= 5; i-- {
		for j := i - 1; j >= 0 && !k.outOfTime(); j-- {
			masters := slices.Delete(slices.Delete(workload.MasterNames(n), i, i+1), j, j+1)
			if k.keep(search.RestrictTo(k.best, clients, masters, keys), k.required()) {
				return true
			}
		}
	}
	return false
}

func (k *shrinker) keys() bool {
	if k.how.OnlyFaults {
		return false
	}
	return k.best.Keys > 1 && k.keep(search.RestrictTo(k.best, workload.Clients(k.best.Clients), workload.MasterNames(k.best.Masters), []string{k.found.Key}), k.required())
}

// targets makes faults hit fewer masters and clients: first by names instead of words, then by fewer names.
func (k *shrinker) targets() bool {
	for i, step := range k.best.Schedule {
		if f := k.faultOfStep(i); f != nil {
			c := k.change(i, func(s *scenario.Step) {
				s.Masters, s.Clients = concrete(s.Masters, f.Masters), concrete(s.Clients, f.Clients)
			})
			if sizeOf(c).Hit < sizeOf(k.best).Hit && c.Check() == nil && k.keep(c, k.required()) {
				return true
			}
		}
		for j := range step.Masters {
			if len(step.Masters) > 1 && k.keep(k.change(i, func(s *scenario.Step) { s.Masters = slices.Delete(slices.Clone(s.Masters), j, j+1) }), k.required()) {
				return true
			}
		}
		for j := range step.Clients {
			if len(step.Clients) > 1 && k.keep(k.change(i, func(s *scenario.Step) { s.Clients = slices.Delete(slices.Clone(s.Clients), j, j+1) }), k.required()) {
				return true
			}
		}
	}
	return false
}

// faultOfStep returns the fault that step i caused in the best scenario's history, or nil.
func (k *shrinker) faultOfStep(i int) *history.Fault {
	for _, f := range history.Faults(k.history.Ops) {
		if f.Installed && f.Params["step"] == fmt.Sprint(i+1) {
			return f
		}
	}
	return nil
}

// concrete replaces words, such as holders, by the names that the fault hit.
func concrete(names, hit []string) []string {
	if len(hit) == 0 || len(names) > 0 && isName(names[0]) {
		return names
	}
	return hit
}

// change returns the best scenario with one step changed.
func (k *shrinker) change(i int, f func(*scenario.Step)) scenario.Scenario {
	return search.WithStep(k.best, i, f)
}

// try keeps a simpler candidate if it violates the property at least as often as the best scenario.
func (k *shrinker) try(c scenario.Scenario) bool {
	return !k.outOfTime() && c.Check() == nil && k.keep(c, k.rate)
}

// work simplifies what the clients do, and the scheduler.
func (k *shrinker) work() {
	needs := checker.PropertiesOf(k.properties)[0].Needs
	for _, f := range []func(s *scenario.Scenario){
		func(s *scenario.Scenario) { s.Scheduler, s.Stall = "", 0 },
		func(s *scenario.Scenario) { s.Extend = 0 },
		func(s *scenario.Scenario) { s.Usage = nil },
		func(s *scenario.Scenario) { s.LongHolds = 0 },
		func(s *scenario.Scenario) {
			if needs != checker.FencingTokens {
				s.Fencing = false
			}
		},
		func(s *scenario.Scenario) {
			if needs != checker.CompareAndSet {
				s.Resource = ""
			}
		},
	} {
		c := k.best
		if f(&c); !reflect.DeepEqual(c, k.best) {
			k.try(c)
		}
	}
	for _, hold := range []time.Duration{k.best.TTL / 2, k.best.TTL * 3 / 4, k.best.TTL, k.best.TTL / 4, 0} {
		if !strings.Contains(k.best.Hold, "..") {
			return
		}
		c := k.best
		c.Hold = hold.String()
		k.try(c)
	}
}

// simplifySteps simplifies each fault: once instead of repeatedly, without special parameters.
func (k *shrinker) simplifySteps() {
	for i := range k.best.Schedule {
		for _, f := range []func(s *scenario.Step){
			func(s *scenario.Step) { s.Repeat = false },
			func(s *scenario.Step) { s.Mode = "" },
			func(s *scenario.Step) { s.Direction = "" },
			func(s *scenario.Step) { s.Strict, s.Torn = false, false },
		} {
			c := k.change(i, f)
			if !reflect.DeepEqual(k.best.Schedule[i], c.Schedule[i]) {
				k.try(c)
			}
		}
	}
}

// times rounds the times of the schedule, and shortens the run.
func (k *shrinker) times() {
	for _, limit := range []time.Duration{1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 60} {
		limit *= time.Second
		if limit < k.best.TTL || limit >= k.best.TimeLimit {
			continue
		}
		c := k.best
		c.TimeLimit = limit
		if k.try(c) {
			break
		}
	}
	for i := range k.best.Schedule {
		kind := fault.Of(k.best.Schedule[i].Fault)
		for _, field := range []func(*scenario.Step) *scenario.Duration{
			func(s *scenario.Step) *scenario.Duration { return &s.At },
			func(s *scenario.Step) *scenario.Duration { return &s.Plus },
			func(s *scenario.Step) *scenario.Duration { return &s.For },
			func(s *scenario.Step) *scenario.Duration { return &s.Delay },
		} {
			step := k.best.Schedule[i]
			least := time.Duration(0)
			if kind.EndsMaster() && field(&step) == &step.For {
				least = k.base.RestartDelay // the base assumes that restarts take at least this long
			}
			if c, _, _ := nemesis.ParseClock(step.Clock); field(&step) == &step.For && (c.Offset < 0 || c.Rate > 0) {
				least = step.For // correcting it would be a jump, a fault of its own
			}
			shorter := roundValues(*field(&step))
			if field(&step) == &step.For {
				shorter = append(k.parts(step.For), shorter...)
			}
			for _, d := range shorter {
				if d >= least && k.try(k.change(i, func(s *scenario.Step) { *field(s) = d })) {
					break
				}
			}
		}
		if c, strobe, err := nemesis.ParseClock(k.best.Schedule[i].Clock); err == nil && c.Offset != 0 && k.base.Clock == "" && k.base.ClientClock == "" {
			sign := k.best.Schedule[i].Clock[:1]
			for _, d := range roundValues(c.Offset.Abs()) {
				if d > 0 && !strobe && k.try(k.change(i, func(s *scenario.Step) { s.Clock = sign + d.String() })) {
					break
				}
			}
		}
	}
}

// parts lists 0 and the times below d that are half a TTL to three TTLs.
func (k *shrinker) parts(d time.Duration) []time.Duration {
	list := []time.Duration{0}
	for _, half := range []time.Duration{1, 2, 3, 4, 6} {
		if part := half * k.best.TTL / 2; part < d {
			list = append(list, part)
		}
	}
	return list
}

// roundValues lists 0 and rounder times near d, the roundest first.
func roundValues(d time.Duration) []time.Duration {
	if d == 0 {
		return nil
	}
	list := []time.Duration{0}
	for _, unit := range []time.Duration{time.Minute, 10 * time.Second, time.Second, 500 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		if d%unit == 0 {
			break
		}
		for _, r := range []time.Duration{d.Truncate(unit) + unit, d.Truncate(unit)} {
			if r > 0 && r <= 2*d && !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// triggers replaces times of faults by events that happened before them in the history, so that the schedule
// can be replayed where timing differs.
func (k *shrinker) triggers() {
	for i := range k.best.Schedule {
		step := k.best.Schedule[i]
		if step.After == "" && step.At == 0 {
			continue
		}
		for _, c := range k.timings(i) {
			if k.try(c) {
				break
			}
		}
	}
}

// timings lists other times and triggers for a step, the simplest first: at a grant that precedes the fault,
// from the beginning, or some time after one of the last events before the fault.
func (k *shrinker) timings(i int) []scenario.Scenario {
	var out []scenario.Scenario
	add := func(after string, plus time.Duration) {
		step := k.best.Schedule[i]
		if step.After == after && step.Plus == plus && step.At == 0 {
			return
		}
		out = append(out, k.change(i, func(s *scenario.Step) { s.At, s.After, s.Plus, s.Repeat = 0, after, plus, s.Repeat && after != "" }))
	}
	f := k.faultOfStep(i)
	if f == nil {
		return nil
	}
	kind := fault.Of(f.Name)
	if kind.Hits == fault.Links || kind.Hits == fault.Clients {
		out = append(out, k.change(i, func(s *scenario.Step) { s.At, s.After, s.Plus, s.Repeat, s.For = 0, "", 0, false, k.best.TimeLimit }))
	}
	add("", 0)
	verbs := map[string]string{
		history.FAcquire: "acquires", history.FEnter: "enters", history.FWrite: "writes", history.FExtend: "extends", history.FRelease: "releases",
	}
	events := 0
	for j := f.Index; j >= 0 && events < 8; j-- {
		op := &k.history.Ops[j]
		verb := verbs[op.F]
		if verb == "" || op.Time > f.Began || !(op.Type == history.OK || op.F == history.FEnter) {
			continue
		}
		events++
		after, plus := fmt.Sprintf("%s %s %s", op.Process, verb, op.Key), f.Began-op.Time
		if op.F == history.FAcquire { // the event that is easiest to understand
			out = append([]scenario.Scenario{k.change(i, func(s *scenario.Step) { s.At, s.After, s.Plus = 0, after, 0 })}, out...)
		}
		add(after, plus)
	}
	return out
}

// sure is the share of seeds with which a counterexample should violate its property, so that it also does so
// on real masters, where chance differs.
const sure = 0.9

// amplify raises the reproduction rate: it gives clients time for the violation, and makes faults hit more
// masters, up to a quorum, or strike repeatedly. It adds no fault.
func (k *shrinker) amplify() {
	want := int(sure * float64(len(k.seeds)))
	if k.rate >= want {
		return
	}
	generous := k.best
	generous.TimeLimit, generous.Hold, generous.LongHolds = max(generous.TimeLimit, 4*generous.TTL), generous.TTL.String(), 0
	candidates := []scenario.Scenario{generous}
	for i, step := range k.best.Schedule {
		if len(step.Masters) == 0 || !isName(step.Masters[0]) {
			continue
		}
		for n := len(step.Masters); n <= k.best.Masters/2+1; n++ {
			for _, some := range combinations(workload.MasterNames(k.best.Masters), n) {
				candidates = append(candidates, search.WithStep(generous, i, func(s *scenario.Step) { s.Masters = some }))
			}
		}
	}
	for i, step := range k.best.Schedule {
		if step.After != "" && !strings.HasPrefix(step.After, "step") {
			candidates = append(candidates, search.WithStep(generous, i, func(s *scenario.Step) { s.Repeat = true }))
		}
	}
	for _, c := range candidates[:min(len(candidates), 100)] {
		if k.rate >= want || k.outOfTime() {
			return
		}
		if sizeOf(c).Hit > max(k.before.Hit, sizeOf(k.best).Hit) {
			continue // larger than at the beginning
		}
		// A candidate whose rate is hardly higher is not worth it.
		least := min(want, max(3*k.rate/2, want/3)+1)
		if hits, _ := k.sample(c, least); hits >= least && c.Check() == nil {
			k.keep(c, hits)
			k.measure()
		}
	}
}

// combinations lists the subsets of n names.
func combinations(names []string, n int) [][]string {
	if n == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for i := range len(names) - n + 1 {
		for _, rest := range combinations(names[i+1:], n-1) {
			out = append(out, append([]string{names[i]}, rest...))
		}
	}
	return out
}
