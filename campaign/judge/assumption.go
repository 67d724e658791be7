package judge

import (
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// Assumption is something on which locks with leases rest. What is violated because it is broken is inherent: no such
// lock could have kept it, and the lock is not to blame.
type Assumption struct {
	Name     string // a noun, for sentences with "without"
	Says     string // a sentence
	Help     string // a sentence: what to do about it
	Inherent []string

	takeover bool // a server that takes over breaks it, in a service that replicates asynchronously
	broken   func(f *history.Fault, persistence string) bool
}

// whole lists the levels that nothing keeps without the keys.
var whole = []string{"L1", "L2", "L3", "L4", "L5", "FM", "EXT", "AV"}

// Assumptions has all assumptions. Situations of an audit name the one that they break.
var Assumptions = []Assumption{
	{
		Name: "persistence", Says: "A master that has granted a lock does not forget it.", Inherent: whole,
		Help: "Use appendfsync=always, or keep a master down for longer than the TTL before it comes back.",
		broken: func(f *history.Fault, persistence string) bool {
			k := fault.Of(f.Name)
			if persistence == history.OwnPersistence { // a service promises to keep what it has acknowledged
				return false
			}
			switch k.Process {
			case fault.Ends, fault.LosesPower:
				return persistence != "always" && (persistence != "everysec" || k.Process == fault.LosesPower)
			case fault.ShutsDown:
				return persistence == "none"
			}
			return k.Disk == fault.LyingDisk
		},
	},
	{
		Name: "complete replicas", Says: "A replica that takes over has all that its master acknowledged.", Inherent: whole,
		Help:     "Use independent masters, or have the lock wait for all replicas.",
		takeover: true,
		broken:   func(f *history.Fault, _ string) bool { return fault.Of(f.Name).Process == fault.IsReplaced },
	},
	{
		Name: "clients that never stop", Says: "A client is never stopped in its critical section.", Inherent: []string{"L3", "L4"},
		Help:   "Fencing tokens make stopped clients harmless (L5).",
		broken: func(f *history.Fault, _ string) bool { return fault.Of(f.Name).Client == fault.ClientStops },
	},
	{
		Name: "clocks of one rate", Says: "Clocks run at the same rate, but for a percent.", Inherent: whole,
		Help: "Watch the clocks of masters and clients, or use shorter leases than you trust them for.",
		broken: func(f *history.Fault, _ string) bool {
			k := fault.Of(f.Name)
			return k.Clock == fault.MasterClock && strings.HasPrefix(f.Params[fault.ClockField], "x") || k.Clock == fault.ClientClock && f.Params[fault.Rate] != ""
		},
	},
	{
		Name: "clocks that never jump", Says: "The clocks of masters do not jump.", Inherent: whole,
		Help: "Have the clocks of masters slewed, not stepped.",
		broken: func(f *history.Fault, _ string) bool {
			return fault.Of(f.Name).Clock == fault.MasterClock && !strings.HasPrefix(f.Params[fault.ClockField], "x")
		},
	},
	{
		Name: "memory for all keys", Says: "A master evicts no key.", Inherent: whole,
		Help:   "Use maxmemory-policy noeviction on masters of locks.",
		broken: func(f *history.Fault, _ string) bool { return fault.Of(f.Name).Evicts },
	},
}

// AssumptionNamed returns the assumption with a name.
func AssumptionNamed(name string) (Assumption, bool) {
	i := slices.IndexFunc(Assumptions, func(a Assumption) bool { return a.Name == name })
	if i < 0 {
		return Assumption{}, false
	}
	return Assumptions[i], true
}

// Inherent returns the assumptions without which the violations of a result happened. It returns none if one of the
// violations that the result has in full has another cause: then the lock may be to blame.
func Inherent(h *history.History, v *checker.Result) []Assumption {
	if v.Verdict != checker.Violated || len(v.Violations) == 0 {
		return nil
	}
	e := newExcuses(h)
	var all []Assumption
	for i := range v.Violations {
		a, ok := e.of(v.Level, &v.Violations[i])
		if !ok {
			return nil
		}
		if !slices.ContainsFunc(all, func(b Assumption) bool { return b.Name == a.Name }) {
			all = append(all, a)
		}
	}
	return all
}

// Excused returns the assumption without which a violation at a level happened, if there is one: no lock with leases keeps the
// level then.
func Excused(h *history.History, level string, v *narrative.Violation) (Assumption, bool) {
	return newExcuses(h).of(level, v)
}

// excuses says of the violations of a history which broken assumption accounts for them.
type excuses struct {
	header *history.Header
	faults map[int]*history.Fault
}

func newExcuses(h *history.History) excuses {
	e := excuses{&h.Header, map[int]*history.Fault{}}
	for _, f := range history.Faults(h.Ops) {
		e.faults[f.ID] = f
	}
	return e
}

func (e excuses) of(level string, v *narrative.Violation) (Assumption, bool) {
	return e.accounts(level, v.Faults, v.TakenOver())
}

// accounts returns the assumption that faults or a takeover broke and without which no lock with leases keeps a level.
func (e excuses) accounts(level string, ids []int, takenOver bool) (Assumption, bool) {
	i := slices.IndexFunc(Assumptions, func(a Assumption) bool {
		return slices.Contains(a.Inherent, level) && (a.takeover && takenOver && e.header.Asynchronous || slices.ContainsFunc(ids, func(id int) bool {
			return e.faults[id] != nil && a.broken(e.faults[id], e.header.Persistence)
		}))
	})
	if i < 0 {
		return Assumption{}, false
	}
	return Assumptions[i], true
}
