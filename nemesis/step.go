package nemesis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/history/fault"
)

// Step is one fault to inject. Its fields have the names of those in a scenario.
type Step struct {
	Fault      string        `yaml:"fault"`                 // name of a fault.Kind
	At         time.Duration `yaml:"at,omitempty"`          // time since the beginning of the run
	After      string        `yaml:"after,omitempty"`       // instead of At: the triggering event (see CheckTrigger)
	Plus       time.Duration `yaml:"plus,omitempty"`        // time between that event and the step
	Repeat     bool          `yaml:"repeat,omitempty"`      // again on each such event, once the fault has healed
	For        time.Duration `yaml:"for,omitempty"`         // duration; for kill and shutdown the time until the restart
	Masters    []string      `yaml:"masters,omitempty"`     // names, or one target word (see Targets); empty: one
	Clients    []string      `yaml:"clients,omitempty"`     // names, or any, all, holder; empty: the kind's default
	Mode       cluster.Mode  `yaml:"mode,omitempty"`        // of a partition: hold or drop
	Direction  string        `yaml:"direction,omitempty"`   // of a partition: both, requests, replies
	Delay      time.Duration `yaml:"delay,omitempty"`       // of slow, and of each fsync of slow-fsync
	Point      string        `yaml:"point,omitempty"`       // of client-pause and client-kill
	Clock      string        `yaml:"clock,omitempty"`       // of clock and client-clock (see ParseClock)
	Rate       float64       `yaml:"rate,omitempty"`        // of client-clock, instead of Clock: x1.5 is 1.5
	Outage     time.Duration `yaml:"outage,omitempty"`      // of failover: time without a server; 0: drawn
	SplitBrain bool          `yaml:"split_brain,omitempty"` // of failover: the primary lives on for Clients (empty: half)
	Strict     bool          `yaml:"strict,omitempty"`      // of powercut: names need an fsync of their directory
	Torn       bool          `yaml:"torn,omitempty"`        // of powercut: a random part of the unsynced data survives
}

// String describes the step in one line: "kill m3, 10ms after c1 acquires k0".
func (s Step) String() string {
	what := s.Fault
	for _, x := range []string{s.Clock, string(s.Mode), s.Direction, s.Point} {
		if x != "" {
			what += " " + x
		}
	}
	if s.Rate != 0 {
		what += fmt.Sprintf(" x%v", s.Rate)
	}
	if s.SplitBrain {
		what += " into a split brain"
	}
	if s.Outage != 0 {
		what += fmt.Sprintf(" with an outage of %v", s.Outage)
	}
	if s.Delay != 0 {
		what += fmt.Sprintf(" by %v", s.Delay)
	}
	hit := strings.Join(s.Clients, ", ")
	if len(s.Masters) > 0 && hit != "" {
		hit += " from "
	}
	if hit += strings.Join(s.Masters, ", "); hit != "" {
		what += " " + hit
	}
	when := fmt.Sprintf("at %v", s.At)
	switch {
	case s.After != "" && s.Repeat && s.Plus == 0:
		when = "whenever " + s.After
	case s.After != "" && s.Plus == 0:
		when = "as soon as " + s.After
	case s.After != "" && s.Repeat:
		when = fmt.Sprintf("%v after each time that %s", s.Plus, s.After)
	case s.After != "":
		when = fmt.Sprintf("%v after %s", s.Plus, s.After)
	}
	if s.For > 0 && s.For < 24*time.Hour {
		when += fmt.Sprintf(", for %v", s.For)
	}
	return what + ", " + when
}

// plannedStep is a step with additional data of the nemesis.
type plannedStep struct {
	Step
	number string // its number in its schedule, from 1; empty: it comes from Random or Guided
	guided bool   // the guided nemesis has chosen its targets

	began func(f *injection, err error) // called once it is installed or skipped; may be nil
}

// These words stand for the masters and clients of a step.
const (
	One      = "one"
	Minority = "minority" // as many as may fail while a quorum remains: N minus a quorum
	Majority = "majority" // a quorum
	All      = "all"
	Holders  = "holders" // the masters that voted for the latest lease that is held
	Leader   = "leader"  // the server of a service that leads the others

	Any    = "any"    // client: the first one to reach the point
	Holder = "holder" // client: the one that holds a lease
)

// Targets lists the words for masters.
var Targets = []string{One, Minority, Majority, All, Holders, Leader}

// These are the directions of a partition.
const (
	Both     = "both"
	Requests = "requests"
	Replies  = "replies"
)

var (
	eventPattern = regexp.MustCompile(`^(c\d+|any) (acquires|enters|writes|extends|releases) (k\d+|any)$`)
	stepPattern  = regexp.MustCompile(`^step (\d+)( heals)?$`)
)

// CheckTrigger returns an error unless s is a trigger. A trigger is
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

// Check returns an error if a step is invalid for a cluster of n masters and the clients.
func (s Step) Check(n int, clients, points []string) error {
	kind, ok := fault.Named(s.Fault)
	if !ok {
		return fmt.Errorf("fault %q is unknown: use one of %s", s.Fault, strings.Join(fault.Names(), ", "))
	}
	if err := s.checkTimes(clients); err != nil {
		return err
	}
	if kind.Hits == fault.Clients && len(s.Masters) > 0 {
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
			return fmt.Errorf("master %q is unknown: use %s, or one of %s", m, strings.TrimSuffix(fmt.Sprintf("m1 to m%d", n), " to m1"), strings.Join(Targets, ", "))
		}
	}
	if kind.Hits == fault.Peers && len(s.Clients) > 0 || kind.HitsMaster() && len(s.Clients) > 0 && !s.SplitBrain {
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

// checkTimes returns an error if a time of a step is invalid.
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

// checkManner returns an error if a parameter of a fault is invalid. points are the points at
// which a client can be stopped; an empty one means anywhere.
func (s Step) checkManner(points []string) error {
	kind := fault.Of(s.Fault)
	for _, x := range []struct {
		set   bool
		field string
	}{
		{s.Mode != cluster.Pass, fault.Mode},
		{s.Direction != "", fault.Direction},
		{s.Delay != 0, fault.Delay},
		{s.Point != "", fault.Point},
		{s.Clock != "", fault.ClockField},
		{s.Rate != 0, fault.Rate},
		{s.Strict, fault.Strict},
		{s.Torn, fault.Torn},
		{s.Outage != 0, fault.Outage},
		{s.SplitBrain, fault.SplitBrain},
	} {
		if x.set && !kind.Accepts(x.field) {
			return fmt.Errorf("%s takes no %s: only %s does", s.Fault, x.field, strings.Join(fault.Taking(x.field), " or "))
		}
	}
	named := slices.DeleteFunc(slices.Clone(points), func(p string) bool { return p == "" })
	switch {
	case !slices.Contains([]cluster.Mode{cluster.Pass, cluster.Hold, cluster.Drop}, s.Mode):
		return fmt.Errorf("mode %q is unknown: use hold or drop", s.Mode)
	case !slices.Contains([]string{"", Both, Requests, Replies}, s.Direction):
		return fmt.Errorf("direction %q is unknown: use both, requests or replies", s.Direction)
	case kind.Accepts(fault.Point) && s.Point == "" && !slices.Contains(points, ""):
		return fmt.Errorf("%s needs a point: one of %s", s.Fault, strings.Join(named, ", "))
	case s.Point != "" && !slices.Contains(named, s.Point):
		return fmt.Errorf("point %q is unknown: use one of %s", s.Point, strings.Join(named, ", "))
	case s.Clock != "" && s.Rate != 0:
		return fmt.Errorf("clock %s and rate %v are two faults: write one", s.Clock, s.Rate)
	case kind.Accepts(fault.Rate) && s.Clock == "" && s.Rate != 0 && !(s.Rate > 0 && s.Rate <= 1000):
		return fmt.Errorf("rate %v is out of range: how many seconds the client counts in a true one, above 0 and at most 1000", s.Rate)
	case s.Repeat && s.After == "":
		return fmt.Errorf("repeat needs a trigger (after)")
	}
	if kind.Accepts(fault.ClockField) && s.Rate == 0 {
		_, _, err := ParseClock(s.Clock)
		return err
	}
	return nil
}
