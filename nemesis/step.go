package nemesis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
)

// Step is one fault to inject.
type Step struct {
	Fault     string        // the name of a Kind
	At        time.Duration // when, since the run began
	After     string        // or: the event that triggers it (see CheckTrigger)
	Plus      time.Duration // how long after that event
	Repeat    bool          // each time that it happens, not only the first; once the fault has healed
	For       time.Duration // how long it lasts; of kill and shutdown: until the restart
	Masters   []string      // names, or one target word (see Targets); empty: one
	Clients   []string      // names, or any, all, holder; empty: the kind's default
	Mode      cluster.Mode  // of a partition: hold or drop
	Direction string        // of a partition: both, requests, replies
	Delay     time.Duration // of slow, and of each fsync of slow-fsync
	Point     string        // of client-pause and client-kill
	Clock     string        // of clock and client-clock (see ParseClock)
	Rate      float64       // of client-clock, instead of Clock: x1.5 is 1.5
	Strict    bool          // of powercut: names are durable only once their directory was fsynced
	Torn      bool          // of powercut: a random part of what was not fsynced survives

	Outage     time.Duration // of failover: how long nobody serves; 0: drawn, as Redis Sentinel takes
	SplitBrain bool          // of failover: the old primary lives on for Clients (empty: half of them)

	number string // in its schedule, from 1
	guided bool   // aimed by the guided nemesis
}

// Words for the masters and clients of a step.
const (
	One      = "one"
	Minority = "minority" // as many as can be lost: N minus a quorum
	Majority = "majority" // a quorum
	All      = "all"
	Holders  = "holders" // the masters that voted for the lease that is held

	Any    = "any"    // client: whichever comes first
	Holder = "holder" // client: the one that holds a lease
)

// Targets are the words for masters.
var Targets = []string{One, Minority, Majority, All, Holders}

// Directions of a partition.
const (
	Both     = "both"
	Requests = "requests"
	Replies  = "replies"
)

// Kind is a fault that can be asked for by name.
type Kind struct {
	Name    string
	Summary string // one line
	Hits    string // masters (their processes), machines (below them), links, clients
	Needs   string // shim, replicas, memory (a limit of it), or nothing
	restart bool   // its window ends with a start of the master
	forgets bool   // it can make a master forget a key
	lasting bool   // it is no strike, but what strikes have their effect through
	atOnce  bool   // it has to strike before replicas hear of a lease
	felt    bool   // only clients can tell whether it took effect
	new     func(n *Nemesis, f *injection) effect
}

// Restarts says whether a fault of this kind ends with a start of the master: For is then
// the delay of the restart.
func (k Kind) Restarts() bool { return k.restart }

// Kinds are the faults, by name.
var Kinds = []Kind{
	{Name: "pause", Hits: "masters", Summary: "SIGSTOP: accepts connections, answers nothing, goes on where it stood", felt: true, new: newPause},
	{Name: "kill", Hits: "masters", Summary: "SIGKILL, then a restart at once or delayed", restart: true, forgets: true, new: newKill},
	{Name: "shutdown", Hits: "masters", Summary: "SIGTERM (a clean shutdown, an upgrade), then a restart", restart: true, forgets: true, new: newShutdown},
	{Name: "powercut", Hits: "masters", Needs: "shim", Summary: "SIGKILL, what was not fsynced is lost, then a restart", restart: true, forgets: true, new: newPowerCut},
	{Name: "failover", Hits: "masters", Needs: "replicas", Summary: "a master dies before it has replicated its last write, a replica takes its place", restart: true, forgets: true, atOnce: true, new: newFailover},
	{Name: "clock", Hits: "machines", Needs: "shim", Summary: "a master's clock jumps, drifts or strobes", forgets: true, new: newClock},
	{Name: "slow-fsync", Hits: "machines", Needs: "shim", Summary: "each fsync takes longer", lasting: true, new: newSlowFsync},
	{Name: "lying-fsync", Hits: "machines", Needs: "shim", Summary: "fsync says yes and does nothing", lasting: true, new: newLyingFsync},
	{Name: "full-disk", Hits: "machines", Needs: "shim", Summary: "writes fail: no space is left", new: newFullDisk},
	{Name: "memory", Hits: "machines", Needs: "memory", Summary: "the memory is filled, and the master evicts or refuses", forgets: true, new: newMemory},
	{Name: "partition", Hits: "links", Summary: "cuts clients from masters: both ways or one, bytes held or dropped", felt: true, new: newPartition},
	{Name: "slow", Hits: "links", Summary: "delays what clients and masters send each other", felt: true, new: newSlow},
	{Name: "reset", Hits: "links", Summary: "breaks open connections and refuses new ones", felt: true, new: newReset},
	{Name: "client-pause", Hits: "clients", Summary: "stops a client after its quorum, before it enters, or between check and write", new: newClientPause},
	{Name: "client-kill", Hits: "clients", Summary: "ends a client in its critical section, with the lock held; it starts anew", new: newClientKill},
	{Name: "client-clock", Hits: "clients", Summary: "a client's wall clock jumps or strobes, or its clocks, also the monotonic one, drift", new: newClientClock},
}

// KindNamed finds a fault.
func KindNamed(name string) (Kind, bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// KindNames lists the faults' names.
func KindNames() []string {
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

var (
	eventPattern = regexp.MustCompile(`^(c\d+|any) (acquires|enters|writes|extends|releases) (k\d+|any)$`)
	stepPattern  = regexp.MustCompile(`^step (\d+)( heals)?$`)
)

// CheckTrigger says what is wrong with a trigger. A trigger is
//
//	c1 acquires k0     a client, or any; acquires, enters, writes, extends or
//	                   releases; a key, or any
//	step 2             the schedule's second step is installed
//	step 2 heals       … and has healed
func CheckTrigger(s string) error {
	if eventPattern.MatchString(s) || stepPattern.MatchString(s) {
		return nil
	}
	return fmt.Errorf("%q is not a trigger: write «c1 acquires k0» (or any client, any key; acquires, enters, writes, extends, releases), «step 2» or «step 2 heals»", s)
}

// Check says what is wrong with a step, for a cluster of n masters and the clients.
func (s Step) Check(n int, clients, points []string) error {
	kind, ok := KindNamed(s.Fault)
	if !ok {
		return fmt.Errorf("fault %q is unknown: use one of %s", s.Fault, strings.Join(KindNames(), ", "))
	}
	if err := s.checkTimes(clients); err != nil {
		return err
	}
	if kind.Hits == "clients" && len(s.Masters) > 0 {
		return fmt.Errorf("%s hits clients: it takes no masters", s.Fault)
	}
	for _, m := range s.Masters {
		if slices.Contains(Targets, m) && len(s.Masters) == 1 {
			continue
		}
		if slices.Contains(Targets, m) {
			return fmt.Errorf("the word %q stands for masters by itself: write names, or one word", m)
		}
		var i int
		if c, _ := fmt.Sscanf(m, "m%d", &i); c != 1 || i < 1 || i > n || m != fmt.Sprintf("m%d", i) {
			return fmt.Errorf("master %q is unknown: use m1 to m%d, or one of %s", m, n, strings.Join(Targets, ", "))
		}
	}
	if (kind.Hits == "masters" || kind.Hits == "machines") && len(s.Clients) > 0 && !s.SplitBrain {
		return fmt.Errorf("%s hits masters: it takes no clients", s.Fault)
	}
	for _, c := range s.Clients {
		if slices.Contains([]string{Any, All, Holder}, c) && len(s.Clients) == 1 {
			continue
		}
		if slices.Contains([]string{Any, All, Holder}, c) {
			return fmt.Errorf("the word %q stands for clients by itself: write names, or one word", c)
		}
		if !slices.Contains(clients, c) {
			return fmt.Errorf("client %q is unknown: use one of %s, or any, all, holder", c, strings.Join(clients, ", "))
		}
	}
	return s.checkManner(points)
}

// checkTimes says what is wrong with when a step happens.
func (s Step) checkTimes(clients []string) error {
	if s.After != "" {
		if err := CheckTrigger(s.After); err != nil {
			return err
		}
		if m := eventPattern.FindStringSubmatch(s.After); m != nil && m[1] != Any && !slices.Contains(clients, m[1]) {
			return fmt.Errorf("%q waits for a client that is unknown: use one of %s, or any", s.After, strings.Join(clients, ", "))
		}
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"at", s.At}, {"plus", s.Plus}, {"for", s.For}, {"delay", s.Delay}, {"outage", s.Outage}} {
		if d.d < 0 {
			return fmt.Errorf("%s is %v: it must not be negative", d.name, d.d)
		}
	}
	return nil
}

// checkManner says what is wrong with how a fault is to be. points are those at which a
// client can be stopped; an empty one among them stands for anywhere.
func (s Step) checkManner(points []string) error {
	for _, x := range []struct {
		set   bool
		field string
		kinds []string
	}{
		{s.Mode != cluster.Pass, "mode", []string{"partition"}},
		{s.Direction != "", "direction", []string{"partition"}},
		{s.Delay != 0, "delay", []string{"slow", "slow-fsync"}},
		{s.Point != "", "point", []string{"client-pause", "client-kill"}},
		{s.Clock != "", "clock", []string{"clock", "client-clock"}},
		{s.Rate != 0, "rate", []string{"client-clock"}},
		{s.Strict, "strict", []string{"powercut"}},
		{s.Torn, "torn", []string{"powercut"}},
		{s.Outage != 0, "outage", []string{"failover"}},
		{s.SplitBrain, "split_brain", []string{"failover"}},
	} {
		if x.set && !slices.Contains(x.kinds, s.Fault) {
			return fmt.Errorf("%s takes no %s: only %s does", s.Fault, x.field, strings.Join(x.kinds, " or "))
		}
	}
	named := slices.DeleteFunc(slices.Clone(points), func(p string) bool { return p == "" })
	switch {
	case !slices.Contains([]cluster.Mode{cluster.Pass, cluster.Hold, cluster.Drop}, s.Mode):
		return fmt.Errorf("mode %q is unknown: use hold or drop", s.Mode)
	case !slices.Contains([]string{"", Both, Requests, Replies}, s.Direction):
		return fmt.Errorf("direction %q is unknown: use both, requests or replies", s.Direction)
	case (s.Fault == "client-pause" || s.Fault == "client-kill") && s.Point == "" && !slices.Contains(points, ""):
		return fmt.Errorf("%s needs a point: one of %s", s.Fault, strings.Join(named, ", "))
	case s.Point != "" && !slices.Contains(named, s.Point):
		return fmt.Errorf("point %q is unknown: use one of %s", s.Point, strings.Join(named, ", "))
	case s.Clock != "" && s.Rate != 0:
		return fmt.Errorf("clock %s and rate %v are two faults: write one", s.Clock, s.Rate)
	case s.Fault == "client-clock" && s.Clock == "" && s.Rate != 0 && !(s.Rate > 0 && s.Rate <= 1000):
		return fmt.Errorf("rate %v is out of range: how many seconds the client counts in a true one, above 0 and at most 1000", s.Rate)
	case s.Repeat && s.After == "":
		return fmt.Errorf("repeat needs a trigger (after)")
	}
	if s.Fault == "clock" || s.Fault == "client-clock" && s.Rate == 0 {
		_, _, err := ParseClock(s.Clock)
		return err
	}
	return nil
}
