package exhaust

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	faults "lockpick/history/fault"
	"lockpick/internal/plural"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Bounds limits the schedules that a search tries: the number of participants, their actions, and the faults.
// Times are counted in ticks: a message takes one tick.
type Bounds struct {
	Lock         string        `json:"lock"`
	Property     string        `json:"property"` // the judged level: one of ExhaustiveProperties
	Masters      int           `json:"masters"`
	Clients      int           `json:"clients"`
	Persistence  string        `json:"persistence"`
	Tick         time.Duration `json:"tick"` // ns; length of a tick for the lock, which measures time in real units
	TTL          int           `json:"ttl"`
	Timeout      int           `json:"timeout"`       // ticks that the lock waits for one master
	Acquires     int           `json:"acquires"`      // acquisitions by each client
	Stagger      int           `json:"stagger"`       // c2, c3, … each begin at a tick from 0 to this
	Horizon      int           `json:"horizon"`       // the last tick at which a client tries, or a fault strikes
	Faults       []string      `json:"faults"`        // see Faults
	MaxFaults    int           `json:"max_faults"`    // in one schedule, of all kinds together
	For          int           `json:"for"`           // ticks that a pause or a partition lasts
	Restart      int           `json:"restart_delay"` // ticks from the end of a master to its restart; 0: at once
	Clock        string        `json:"clock"`         // change by the fault clock: +60s or -60s (a jump), x1.5 (a rate)
	Late         int           `json:"late"`          // ticks that a late message takes
	ClientOrders bool          `json:"client_orders"` // try every order of a client's events at one tick
}

// Faults lists the kinds of fault that can be tried exhaustively: the nemesis's faults that strike one
// master, one link or one client, and two faults of single messages.
var Faults = []string{"kill", "powercut", "shutdown", "pause", "clock", "partition", "client-pause", faultLate, faultLost}

// ExhaustiveProperties lists the levels that can be judged exhaustively: L2, the times in which clients may
// rely on their leases never overlap, and L3, the times from a grant to the call of release never overlap,
// whatever the lease says.
var ExhaustiveProperties = []string{checker.Exclusive()[0].Level, checker.Exclusive()[1].Level}

// The faults of single messages.
const (
	faultLate = "late"
	faultLost = "lost"
)

// DefaultBounds returns bounds whose search takes less than a minute.
func DefaultBounds() Bounds {
	return Bounds{
		Lock: "redlock", Property: checker.MutualExclusion.Level, Masters: 3, Clients: 2, Persistence: string(cluster.None), Tick: 100 * time.Millisecond,
		TTL: 16, Timeout: 4, Acquires: 1, Stagger: 2, Horizon: 16, Faults: []string{"kill"}, MaxFaults: 1, For: 14, Clock: "+60s", Late: 6,
	}
}

// Check returns a *scenario.Problem if the bounds are invalid, otherwise nil.
func (b *Bounds) Check() error {
	switch kind, ok := workload.LockNamed(b.Lock); {
	case !ok:
		return scenario.UnknownValue("lock", b.Lock, workload.LockNames())
	case kind.Connects:
		return &scenario.Problem{Field: "lock", Says: fmt.Sprintf("%s connects to its masters and decides by itself what happens when: its schedules cannot be enumerated", b.Lock)}
	}
	if !slices.Contains(ExhaustiveProperties, b.Property) {
		return scenario.UnknownValue("property", b.Property, ExhaustiveProperties)
	}
	if !slices.Contains(cluster.Persistences, cluster.Persistence(b.Persistence)) {
		return scenario.UnknownValue("persistence", b.Persistence, cluster.Persistences)
	}
	for _, f := range b.Faults {
		if !slices.Contains(Faults, f) {
			return scenario.UnknownValue("faults", f, append(slices.Clone(Faults), "none"))
		}
	}
	if _, strobe, err := nemesis.ParseClock(b.Clock); err != nil || strobe {
		return &scenario.Problem{Field: "clock", Says: fmt.Sprintf("%q is none of a jump (+60s, -60s) and a rate (x1.5)", b.Clock)}
	}
	if b.Tick < 20*time.Millisecond || b.Tick > 120*time.Millisecond {
		return &scenario.Problem{Field: "tick", Says: fmt.Sprintf("%v is out of range: 20ms to 120ms", b.Tick)}
	}
	for _, l := range []struct {
		field  string
		n, min int
		max    int
	}{
		{"masters", b.Masters, 1, 7}, {"clients", b.Clients, 1, 4}, {"ttl", b.TTL, 3, 1000}, {"timeout", b.Timeout, 2, b.TTL}, {"acquires", b.Acquires, 1, 10},
		{"stagger", b.Stagger, 0, 1000}, {"horizon", b.Horizon, 1, 10000}, {"max_faults", b.MaxFaults, 0, 10}, {"for", b.For, 1, 10000}, {"restart_delay", b.Restart, 0, 10000}, {"late", b.Late, 2, 10000},
	} {
		if l.n < l.min || l.n > l.max {
			says := fmt.Sprintf("%d is out of range: %d to %d", l.n, l.min, l.max)
			if slices.Contains(inTicks, l.field) {
				says = fmt.Sprintf("%v is out of range: %v to %v, of ticks of %v", b.time(l.n), b.time(l.min), b.time(l.max), b.Tick)
			}
			return &scenario.Problem{Field: l.field, Says: says}
		}
	}
	return nil
}

// inTicks are the bounds that count ticks.
var inTicks = []string{"ttl", "timeout", "stagger", "horizon", "for", "restart_delay", "late"}

// time returns how long some ticks last.
func (b *Bounds) time(ticks int) time.Duration { return time.Duration(ticks) * b.Tick }

// Ticks returns how many ticks a time lasts, or an error if it is not a whole number of them.
func (b *Bounds) Ticks(d time.Duration) (int, error) {
	if b.Tick <= 0 || d%b.Tick != 0 {
		return 0, fmt.Errorf("%v is not a whole number of ticks, each %v (--tick)", d, b.Tick)
	}
	return int(d / b.Tick), nil
}

// Describe lists the bounds, each as a sentence, because a search proves nothing beyond them.
func (b *Bounds) Describe() []string {
	ticks := func(n int) string { return plural.Count(n, "tick", "ticks") }
	says := []string{
		fmt.Sprintf("%s, persistence %s; %s and one key; the lock %s", plural.Count(b.Masters, "master", "masters"), b.Persistence, plural.Count(b.Clients, "client", "clients"), b.Lock),
		fmt.Sprintf("a message arrives one tick after it was sent (at the tick that is nearest to that, if it was sent between ticks); the TTL is %s, the timeout for a master %s", ticks(b.TTL), ticks(b.Timeout)),
	}
	begins := "c1 begins at tick 0"
	if b.Clients > 1 {
		begins += fmt.Sprintf(", each other client at any tick from 0 to %d", b.Stagger)
	}
	says = append(says,
		fmt.Sprintf("%s; each client acquires %s, tries until tick %d, and holds for one tick or until its lease is over; nothing is extended", begins, plural.Count(b.Acquires, "time", "times"), b.Horizon),
		"what reaches a master at one tick from different clients is carried out in every order, what one client sent in the order in which it did")
	if b.ClientOrders {
		says = append(says, "what reaches a client at one tick is taken in every order")
	} else {
		says = append(says, "what reaches a client at one tick is taken in one order: replies in that of the masters, then its own timers")
	}
	says = append(says, fmt.Sprintf("random delays last one tick where they are drawn as Redlock's are (20 to 120 ms): a tick is %v", b.Tick))
	if b.MaxFaults == 0 || len(b.Faults) == 0 {
		return append(says, "no fault")
	}
	says = append(says, fmt.Sprintf("up to %s in all, each at any tick from 0 to %d, right after what happens at that tick, on any one target:", plural.Count(b.MaxFaults, "fault", "faults"), b.Horizon))
	for _, f := range b.Faults {
		says = append(says, "  "+b.describeFault(f))
	}
	return says
}

func (b *Bounds) describeFault(fault string) string {
	lasting := fmt.Sprintf("for %s", plural.Count(b.For, "tick", "ticks"))
	restart := "restarted at once"
	if b.Restart > 0 {
		restart = "restarted after " + plural.Count(b.Restart, "tick", "ticks")
	}
	name := fault + ": "
	switch kind := faults.Of(fault); {
	case fault == faultLate:
		return name + fmt.Sprintf("one message takes %s", plural.Count(b.Late, "tick", "ticks"))
	case fault == faultLost:
		return name + "one message never arrives"
	case kind.Process == faults.Ends:
		return name + "a master ends and is " + restart
	case kind.Process == faults.LosesPower:
		return name + "a master loses what it had not fsynced and is " + restart
	case kind.Process == faults.ShutsDown:
		return name + "a master ends in order and is " + restart
	case kind.Process == faults.Stops:
		return name + "a master stands still " + lasting
	case kind.Clock == faults.MasterClock:
		return name + fmt.Sprintf("a master's clock deviates by %s, to the end", b.Clock)
	case kind.Link == faults.CutLink:
		return name + "what a client and a master send each other is lost " + lasting
	}
	return name + "a client stands still " + lasting
}

// judged returns the property that the search judges.
func (b *Bounds) judged() checker.Property {
	all := checker.Exclusive()
	return all[max(0, slices.IndexFunc(all, func(p checker.Property) bool { return p.Level == b.Property }))]
}

// has reports whether a kind of fault is tried.
func (b *Bounds) has(fault string) bool { return slices.Contains(b.Faults, fault) }

// strike is a fault on a target, which the nemesis of an exhaustive search can choose.
type strike struct {
	fault          string
	master, client int // from 1; 0: none
}

// strikes returns all faults on all their targets, except the faults of single messages.
func (b *Bounds) strikes() []strike {
	var all []strike
	for _, f := range b.Faults {
		switch kind := faults.Of(f); {
		case kind.Hits == faults.Links:
			for c := range b.Clients {
				for m := range b.Masters {
					all = append(all, strike{f, m + 1, c + 1})
				}
			}
		case kind.Hits == faults.Clients:
			for c := range b.Clients {
				all = append(all, strike{f, 0, c + 1})
			}
		case f == faultLate, f == faultLost:
		default:
			for m := range b.Masters {
				all = append(all, strike{f, m + 1, 0})
			}
		}
	}
	return all
}

// String names the fault and its target.
func (s strike) String() string {
	var on []string
	if s.client > 0 {
		on = append(on, fmt.Sprintf("c%d", s.client))
	}
	if s.master > 0 {
		on = append(on, fmt.Sprintf("m%d", s.master))
	}
	return s.fault + " " + strings.Join(on, " ")
}

// clock returns the clock that the fault clock gives a master.
func (b *Bounds) clock() cluster.Clock {
	c, _, _ := nemesis.ParseClock(b.Clock)
	return c
}

// Command returns the command line that searches within these bounds.
func (b *Bounds) Command() string {
	d := DefaultBounds()
	command := "lockpick search --exhaustive"
	for _, f := range []struct {
		flag       string
		value, def any
	}{
		{"lock", b.Lock, d.Lock}, {"property", b.Property, d.Property}, {"masters", b.Masters, d.Masters}, {"clients", b.Clients, d.Clients}, {"persistence", b.Persistence, d.Persistence},
		{"faults", cmp.Or(strings.Join(b.Faults, ","), "none"), strings.Join(d.Faults, ",")}, {"max-faults", b.MaxFaults, d.MaxFaults},
		{"restart-delay", b.time(b.Restart), d.time(d.Restart)}, {"for", b.time(b.For), d.time(d.For)}, {"clock", b.Clock, d.Clock}, {"late", b.time(b.Late), d.time(d.Late)},
		{"ttl", b.time(b.TTL), d.time(d.TTL)}, {"timeout", b.time(b.Timeout), d.time(d.Timeout)}, {"acquires", b.Acquires, d.Acquires}, {"stagger", b.time(b.Stagger), d.time(d.Stagger)},
		{"horizon", b.time(b.Horizon), d.time(d.Horizon)}, {"tick", b.Tick, d.Tick}, {"client-orders", b.ClientOrders, d.ClientOrders},
	} {
		if f.value != f.def {
			command += fmt.Sprintf(" --%s=%v", f.flag, f.value)
		}
	}
	return command
}
