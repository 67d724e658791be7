package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// ScheduleSeed returns the seed of schedule i of an exploration. It is one step of splitmix64 (Steele, Lea
// and Flood, "Fast splittable pseudorandom number generators"), so schedule i of a seed is always the same.
func ScheduleSeed(seed uint64, i int) uint64 {
	z := seed + uint64(i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// The shares of schedules with the guided nemesis and with the PCT scheduler. The others have an explicit
// schedule and the uniform scheduler.
const (
	guidedShare = 0.25
	pctShare    = 1.0 / 3
	mostFaults  = 4 // in an explicit schedule
)

// drawScenario draws one schedule of an exploration: a short concrete scenario made from a base. It keeps the
// assumptions of the base: persistence, kinds of fault, the least delay of restarts, and the settings of
// clocks. If the base has an explicit schedule, only the seed and the scheduler change.
func drawScenario(base scenario.Scenario, seed uint64) scenario.Scenario {
	return drawFrom(base, seed, rand.NewPCG(seed, 0x6578706c6f7265), guidedShare)
}

// Draw draws a short concrete scenario from a base, as an exploration does, but takes its random choices from
// a source. The scenario has an explicit schedule and the driver virtual.
func Draw(base scenario.Scenario, seed uint64, choices rand.Source) scenario.Scenario {
	s := drawFrom(base, seed, choices, 0)
	s.Driver = scenario.Virtual
	return s
}

func drawFrom(base scenario.Scenario, seed uint64, choices rand.Source, guided float64) scenario.Scenario {
	d := &generator{random: rand.New(choices), base: base, s: base}
	d.kind, _ = workload.LockNamed(base.Lock)
	s := &d.s
	s.Driver, s.ClientsAs, s.Seed = scenario.Sim, scenario.Goroutines, seed
	s.Scheduler, s.Stall = "", 0
	if d.chance(pctShare) {
		s.Scheduler = scenario.PCT
		if slices.ContainsFunc(base.FaultNames(), stopsClients) && toleratesStalls(base.Properties) { // stalls stop clients
			s.Stall = 2 * base.TTL
		}
	}
	if len(base.Schedule) > 0 {
		return *s
	}
	if endsWithEvidence(&base) {
		s.StopAfter = enoughContended
	}
	d.clients()
	d.holds()
	switch {
	case len(base.Faults) == 0:
	case d.chance(guided):
		if s.StopAfter == 0 {
			s.TimeLimit = (s.TimeLimit * 13 / 10).Round(time.Millisecond) // most of its faults keep somebody from the lock
		}
		s.Nemesis, s.Interval = scenario.Guided, (base.TTL/8 + d.upTo(base.TTL/2)).Round(time.Millisecond)
		s.Faults = d.some(base.Faults)
	default:
		s.Faults, s.Nemesis = nil, scenario.Random
		for i := range 1 + min(d.random.IntN(mostFaults), d.random.IntN(mostFaults)) {
			s.Schedule = append(s.Schedule, d.step(i))
		}
	}
	d.outlast()
	return *s
}

// A schedule that ends when it has its evidence gets more time to reach it than most need: enoughContended acquisitions, one
// more than the checker wants, because a lease may be over on arrival.
const (
	enoughContended = checker.MinEvidence + 1
	patience        = 2 // times as long as the others
)

// endsWithEvidence reports whether schedules end when they have the evidence of a verdict on what is searched for: on mutual
// exclusion.
func endsWithEvidence(base *scenario.Scenario) bool {
	asked := checker.PropertiesOf(base.Properties)
	return len(base.Arrivals) == 0 && !slices.ContainsFunc(asked, func(p checker.Property) bool { return !p.Contended })
}

// clients draws how many clients there are, and the share of their leases that is long. Waiters of a long lease send most of
// the commands of a schedule, so where many leases are long there are mostly two clients.
func (d *generator) clients() {
	s, most := &d.s, d.base.Clients
	many := d.chance(0.5)
	s.LongHolds = min(d.base.LongHolds, 0.03)
	if many {
		s.LongHolds = min(d.base.LongHolds, 0.25)
	}
	switch {
	case d.base.Keys > 1 || slices.ContainsFunc(d.base.FaultNames(), hitsClients): // few seldom want a key that another lost
		s.Clients = 1 + d.random.IntN(most)
	case many && d.chance(0.75):
		s.Clients = 2
	default:
		s.Clients = 2 + min(d.random.IntN(most), d.random.IntN(most))
	}
	s.Clients = min(max(s.Clients, 2), most)
}

// holds draws how long clients hold the lock, and from that how long they use it: most leases are so short that a
// schedule has as many as a verdict needs, and some so long that something may go wrong meanwhile.
func (d *generator) holds() {
	ttl, s := d.base.TTL, &d.s
	if most := oneOf(d, 0, ttl/40, ttl/20, ttl/8); most > 0 { // otherwise as the scenario says
		s.Hold = hold(0, most)
	}
	from, to, _ := s.HoldRange()                                       // the scenario has been checked
	mean := (from+to)/2 + time.Duration(s.LongHolds*1.15*float64(ttl)) // long ones last 0.8 to 1.5 TTL
	mean += min(d.kind.Retry, ttl) / time.Duration(s.Clients)          // until one of those that wait tries again
	s.TimeLimit = max(time.Second, ttl/2+d.upTo(ttl), time.Duration(10+d.random.IntN(3))*mean).Round(time.Millisecond)
}

// hitsClients reports whether a kind of fault hits clients.
func hitsClients(name string) bool { return fault.Of(name).Hits == fault.Clients }

// stopsClients reports whether a kind of fault stops clients.
func stopsClients(name string) bool { return fault.Of(name).Client == fault.ClientStops }

// toleratesStalls reports whether properties must hold although a client stops at any step. Properties about
// beliefs and actions of clients, and about waiting times, need not. Besides, a stall is not in the history,
// so it could not explain a violation as a fault does.
func toleratesStalls(properties []string) bool {
	return !slices.ContainsFunc(checker.PropertiesOf(properties), func(p checker.Property) bool { return !p.ToleratesStalls })
}

// hold renders a range of hold times for a scenario.
func hold(from, to time.Duration) string {
	return fmt.Sprintf("%v..%v", from.Round(time.Millisecond), to.Round(time.Millisecond))
}

// Schedule returns schedule i of an exploration of base: always the same for the same seed of base.
func Schedule(base scenario.Scenario, i int) scenario.Scenario {
	return drawScenario(base, ScheduleSeed(base.Seed, i))
}

// generator holds a scenario while it is drawn.
type generator struct {
	random *rand.Rand
	base   scenario.Scenario
	kind   workload.Implementation // of the lock, if it is one of Lockpick's own
	s      scenario.Scenario
}

func (d *generator) chance(p float64) bool { return d.random.Float64() < p }

func (d *generator) upTo(most time.Duration) time.Duration {
	return time.Duration(d.random.Int64N(int64(most) + 1))
}

func oneOf[T any](d *generator, from ...T) T { return from[d.random.IntN(len(from))] }

// some draws at least one name.
func (d *generator) some(names []string) []string {
	n := 1 + d.random.IntN(len(names))
	if d.chance(0.5) { // a violation with few kinds is easier to explain
		n = 1
	}
	return d.few(names, n)
}

// few draws n names and keeps their order.
func (d *generator) few(names []string, n int) []string {
	var out []string
	for _, i := range slices.Sorted(slices.Values(d.random.Perm(len(names))[:n])) {
		out = append(out, names[i])
	}
	return out
}

// step draws one fault, after i earlier ones.
func (d *generator) step(i int) scenario.Step {
	ttl := d.base.TTL
	s := scenario.Step{Fault: oneOf(d, d.base.Faults...)}
	kind := fault.Of(s.Fault)
	if kind.Hits != fault.Clients {
		s.Masters = d.masters()
	}
	if kind.Hits == fault.Links {
		s.Clients = oneOf(d, d.some(workload.Clients(d.s.Clients)), []string{nemesis.All}, []string{nemesis.Holder})
	}
	d.when(&s, i)
	s.For = ttl/10 + d.upTo(2*ttl)
	if s.Repeat && d.oneMaster() && d.blocks(&s) {
		s.For = ttl/10 + d.upTo(ttl/2)
	}
	if kind.EndsMaster() {
		s.For = d.base.RestartDelay
		if s.For > 0 && d.chance(0.5) {
			s.For += d.upTo(ttl).Round(time.Millisecond)
		}
	}
	switch {
	case kind.Accepts(fault.Strict):
		s.Strict, s.Torn = d.base.Strict, d.base.Torn
	case kind.Accepts(fault.Outage):
		s.Outage, s.SplitBrain = d.base.Outage, d.base.SplitBrain
	case kind.Clock == fault.MasterClock:
		s.Clock = d.base.Clock
		if s.Clock == "" {
			off := (ttl/10 + d.upTo(2*ttl)).Round(time.Millisecond).String()
			s.Clock = oneOf(d, "+"+off, "-"+off, "x1.5", "x0.5", "~"+off)
		}
		if c, _, _ := nemesis.ParseClock(s.Clock); c.Offset < 0 || c.Rate > 0 {
			s.For = 24 * time.Hour // correcting it is a jump forward, a fault of its own
		}
	case kind.Disk == fault.SlowDisk:
		s.Delay = d.base.FsyncDelay
	case kind.Link == fault.SlowLink:
		s.Delay = (ttl/200 + d.upTo(ttl/20)).Round(time.Millisecond)
	case kind.Link == fault.CutLink:
		s.Mode = oneOf(d, cluster.Hold, cluster.Drop)
		s.Direction = oneOf(d, nemesis.Both, nemesis.Both, nemesis.Requests, nemesis.Replies)
		if d.chance(0.4) && !d.blocks(&s) { // for the whole run, so that the clients have narrow quorums
			s.For, s.Repeat = d.s.TimeLimit, false
			if !d.needsHolder(&s) {
				s.At, s.After, s.Plus = 0, "", 0
			}
		}
	case kind.Client == fault.ClientStops:
		s.Point = oneOf(d, d.s.Resource.Points()...)
	case kind.Client == fault.ClientEnds:
		s.Point = oneOf(d, d.s.Resource.Points()[1:]...) // the first point is inside the lock, where only processes can end
	case kind.Clock == fault.ClientClock:
		if s.Clock = d.base.WantedClientClock(); s.Clock == "" {
			off := (ttl/10 + d.upTo(2*ttl)).Round(time.Millisecond).String()
			s.Clock = oneOf(d, "x0.5", "x0.9", "x1.1", "x2", "+"+off, "-"+off)
		}
		s.For = d.s.TimeLimit
	}
	if kind.Hits == fault.Clients {
		s.Clients = d.some(workload.Clients(d.s.Clients))
	}
	if !kind.EndsMaster() {
		s.For = s.For.Round(time.Millisecond)
	}
	return s
}

// outlast prolongs the schedule by the time for which its faults keep everybody from the lock, and if it ends with its
// evidence by what it may need to have that.
func (d *generator) outlast() {
	limit := d.s.TimeLimit
	for i := range d.s.Schedule {
		if s := &d.s.Schedule[i]; d.blocks(s) {
			d.s.TimeLimit += min(s.For, 2*d.base.TTL)
		}
	}
	if d.s.StopAfter > 0 {
		d.s.TimeLimit *= patience
		if d.oneMaster() {
			d.s.TimeLimit *= patience
		}
	}
	d.s.TimeLimit = min(d.s.TimeLimit.Round(time.Millisecond), scenario.MaxTimeLimit)
	for i := range d.s.Schedule {
		if s := &d.s.Schedule[i]; s.For == limit { // for the whole run
			s.For = d.s.TimeLimit
		}
	}
}

// oneMaster reports whether all leases are on one master, so that each fault of it keeps everybody from the lock.
func (d *generator) oneMaster() bool {
	return d.base.Masters == 1 || d.kind.Masters == workload.OneMaster
}

// needsHolder reports whether a step names the holder of a lease, or its masters: if nobody holds one, it is skipped.
func (d *generator) needsHolder(s *scenario.Step) bool {
	return slices.Contains(s.Masters, nemesis.Holders) || slices.Contains(s.Clients, nemesis.Holder)
}

// blocks reports whether nobody may be able to acquire a lock while the fault of a step is in force.
func (d *generator) blocks(s *scenario.Step) bool {
	switch fault.Of(s.Fault).Hits {
	case fault.Masters:
	case fault.Links:
		if len(s.Clients) < d.s.Clients && !slices.Contains(s.Clients, nemesis.All) {
			return false
		}
	default:
		return false
	}
	wide := slices.ContainsFunc(s.Masters, func(m string) bool {
		return slices.Contains([]string{nemesis.Majority, nemesis.Holders, nemesis.All}, m)
	})
	if d.kind.Masters == workload.OneMaster {
		return wide || s.Masters[0] == nemesis.Minority || slices.Contains(s.Masters, workload.MasterNames(1)[0])
	}
	return wide || len(s.Masters) > (d.base.Masters-1)/2
}

// when draws the time or the trigger of a step whose targets are drawn. Later times than half of the time limit meet too
// few leases, and a step that needs a holder waits for one.
func (d *generator) when(s *scenario.Step, i int) {
	holder, repeats := d.needsHolder(s), 0.2
	if fault.Of(s.Fault).EndsMaster() || d.oneMaster() && d.blocks(s) { // one strike and the TTL after it meet few leases
		repeats = 0.8
	}
	switch p := d.random.Float64(); {
	case p < 0.2 && !holder && !d.oneMaster():
		s.At = d.upTo(d.s.TimeLimit / 2).Round(time.Millisecond)
		return
	case p < 0.35 && i > 0 && !holder:
		n := d.random.IntN(i)
		s.After = fmt.Sprintf("step %d", 1+n)
		if d.chance(0.5) && d.s.Schedule[n].For < d.s.TimeLimit/4 { // it heals in time
			s.After += " heals"
		}
	default:
		client := nemesis.Any
		if d.chance(0.5) {
			client = oneOf(d, append(workload.Clients(d.s.Clients), nemesis.Any)...)
		}
		key := oneOf(d, append(workload.Keys(d.s.Keys), nemesis.Any)...)
		verb := oneOf(d, "acquires", "acquires", "acquires", "acquires", "enters", "writes", "extends", "releases")
		if verb == "extends" && d.s.LongHolds < 0.1 || verb == "releases" && holder { // it may never come, or too late
			verb = "acquires"
		}
		s.After, s.Repeat = fmt.Sprintf("%s %s %s", client, verb, key), d.chance(repeats)
	}
	// Immediately, while messages are in flight, or while the lease is valid.
	s.Plus = oneOf(d, 0, d.upTo(5*time.Millisecond), d.upTo(d.base.TTL/4), d.upTo(d.base.TTL)).Round(100 * time.Microsecond)
	if holder {
		s.Plus = min(s.Plus, oneOf(d, 0, d.upTo(d.base.TTL/40)).Round(100*time.Microsecond))
	}
}

// masters draws the masters that a step hits: one of the base's targets, a word such as holders, or names.
func (d *generator) masters() []string {
	if len(d.base.Targets) > 0 {
		return []string{oneOf(d, d.base.Targets...)}
	}
	if d.kind.Masters == workload.OneMaster && d.chance(0.8) { // the others hold nothing
		return workload.MasterNames(1)
	}
	if d.chance(0.3) {
		return []string{oneOf(d, nemesis.Holders, nemesis.Holders, nemesis.Minority, nemesis.Majority)}
	}
	n := 1
	switch p := d.random.Float64(); {
	case p > 0.9:
		n = 1 + d.random.IntN(d.base.Masters)
	case p > 0.6:
		n = min(2, d.base.Masters)
	}
	return d.few(workload.MasterNames(d.base.Masters), n)
}
