package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Scenario is everything that one campaign needs. The zero value of a field means its default
// (see Defaults). The names of the fields in YAML are the names of the flags.
type Scenario struct {
	Name        string              `yaml:"name"`
	Lock        string              `yaml:"lock"`             // with a client's command: only a label
	Client      []string            `yaml:"client,omitempty"` // the command that runs as each client, which has the lock; empty: Lockpick's own
	Fencing     bool                `yaml:"fencing"`
	Masters     int                 `yaml:"masters"`
	Persistence string              `yaml:"persistence"`
	MaxMemory   int64               `yaml:"max_memory,omitempty"` // bytes, of each master; 0: no limit
	Eviction    string              `yaml:"eviction,omitempty"`   // how a master evicts keys at that limit
	Replicas    int                 `yaml:"replicas,omitempty"`   // asynchronous ones of each master
	Wait        int                 `yaml:"wait,omitempty"`       // of them must have a key before their master's vote counts
	Clients     int                 `yaml:"clients"`
	ClientsAs   string              `yaml:"clients_as"` // goroutines, processes
	Keys        int                 `yaml:"keys"`
	TTL         Duration            `yaml:"ttl"`
	ClientTTL   map[string]Duration `yaml:"client_ttl,omitempty"` // of clients that have another TTL
	Timeout     Duration            `yaml:"timeout,omitempty"`    // per master; 0: the lock's default
	Hold        string              `yaml:"hold"`                 // "0..1s" or "500ms"
	LongHolds   float64             `yaml:"long_holds"`           // share of sections that want 0.8 to 1.5 TTL
	Extend      float64             `yaml:"extend"`               // probability that a lease which runs out is extended
	Arrivals    []workload.Arrival  `yaml:"arrivals,omitempty"`   // when clients acquire; empty: each again and again
	Resource    workload.Protocol   `yaml:"resource,omitempty"`   // how clients use the guarded resource: register (or empty), cas-mark-first, cas-mark-last

	Faults       []string `yaml:"faults"`  // empty: none
	Nemesis      string   `yaml:"nemesis"` // random, guided
	Targets      []string `yaml:"targets,omitempty"`
	Interval     Duration `yaml:"interval,omitempty"` // 0: the TTL
	RestartDelay Duration `yaml:"restart_delay"`
	Clock        string   `yaml:"clock,omitempty"`        // of the fault clock: +60s, -60s, x1.5, ~5s; empty: drawn
	ClientClock  string   `yaml:"client_clock,omitempty"` // of the fault client-clock, as of clock; empty: drawn
	ClientRate   float64  `yaml:"client_rate,omitempty"`  // of the fault client-clock, instead: x1.5 is 1.5
	FsyncDelay   Duration `yaml:"fsync_delay,omitempty"`  // of the fault slow-fsync; 0: 1s
	Outage       Duration `yaml:"outage,omitempty"`       // of the fault failover: how long no server serves; 0: drawn
	SplitBrain   bool     `yaml:"split_brain,omitempty"`  // of the fault failover: the old primary lives on for half of the clients
	Strict       bool     `yaml:"strict,omitempty"`       // of the fault powercut: names are durable only once their directory was fsynced
	Torn         bool     `yaml:"torn,omitempty"`         // of the fault powercut: a random part of what was not fsynced survives
	Schedule     []Step   `yaml:"schedule,omitempty"`
	Network      Network  `yaml:"network,omitempty"` // of the simulator

	Scheduler       string   `yaml:"scheduler,omitempty"` // of simulated masters: random (or empty), pct
	Stall           Duration `yaml:"stall,omitempty"`     // the longest at a change point of pct
	TimeLimit       Duration `yaml:"time_limit"`
	Seed            uint64   `yaml:"seed"`
	StopOnViolation bool     `yaml:"stop_on_violation,omitempty"`
	Properties      []string `yaml:"properties,omitempty"` // levels or names of properties that decide the exit code; empty: all that were judged
	Driver          string   `yaml:"driver"`
	Image           string   `yaml:"image,omitempty"`
}

// Network is what a simulated network does to messages by itself, each with a probability. Real
// networks do that, too, but not in a controlled way.
type Network struct {
	Loss      float64  `yaml:"loss,omitempty"`      // a message is lost, and its connection hangs
	Duplicate float64  `yaml:"duplicate,omitempty"` // a request arrives twice
	Late      float64  `yaml:"late,omitempty"`      // a request is held back, so that later ones overtake it,
	LateBy    Duration `yaml:"late_by,omitempty"`   // by up to this; 0: 1s
	Apart     Duration `yaml:"apart,omitempty"`     // clients are near to some masters each, and so far from all others, one way
}

// Duration is a time.Duration that YAML writes as "1.5s".
type Duration = time.Duration

// Step is one fault of an explicit schedule.
type Step = nemesis.Step

// The nemeses, by name. A scenario with a schedule needs none of them.
const (
	Random = "random"
	Guided = "guided"
)

// The schedulers of simulated masters, by name: random, and probabilistic concurrency testing
// (sim.PCT).
const (
	Uniform = "random"
	PCT     = "pct"
)

// Schedulers lists them.
var Schedulers = []string{Uniform, PCT}

// The kinds of clients, by name.
const (
	Goroutines = "goroutines"
	Processes  = "processes"
)

// The drivers, by name.
const (
	Auto    = "auto"
	Docker  = "docker"
	Process = "process"
	Sim     = "sim"
	Virtual = "virtual" // in memory, for locks that connect to their masters
)

// Drivers lists the drivers that can be selected.
var Drivers = []string{Auto, Docker, Process, Sim, Virtual}

// Defaults is the scenario that `lockpick run` runs without flags.
func Defaults() Scenario {
	return Scenario{
		Name: "redlock", Lock: "redlock", Masters: 5, Persistence: string(cluster.None),
		Clients: 5, ClientsAs: Goroutines, Keys: 1, TTL: 2 * time.Second, Hold: "0s..1s", LongHolds: 0.25, Extend: 0.5,
		Faults: []string{"kill", "partition"}, Nemesis: Guided, TimeLimit: 30 * time.Second, Seed: 1, Driver: Auto,
	}
}

// Problem is what is wrong with one field of a scenario.
type Problem struct {
	Field string // its path: ttl, schedule[1].fault
	Says  string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %s", p.Field, p.Says) }

// Check returns what is wrong with the scenario, as a *Problem, or nil.
func (s *Scenario) Check() error {
	for _, c := range []func() *Problem{s.checkWhat, s.checkHow, s.checkFaults, s.checkSchedule} {
		if p := c(); p != nil {
			return p
		}
	}
	return nil
}

func (s *Scenario) checkWhat() *Problem {
	if p := s.checkClient(); p != nil {
		return p
	}
	kind, ok := workload.LockNamed(s.Lock)
	if !ok && !s.foreign() {
		p := UnknownValue("lock", s.Lock, workload.CorrectNames())
		p.Says += ", or one that is wrong on purpose (lockpick list locks)"
		return p
	}
	if s.Fencing && !kind.Fencing && !s.foreign() {
		return &Problem{"fencing", fmt.Sprintf("the lock %s has no fencing tokens", s.Lock)}
	}
	if strings.ContainsAny(s.Name, "/\\") || s.Name == "" || len(s.Name) > 80 {
		return &Problem{"name", fmt.Sprintf("%q does not make a folder's name: 1 to 80 characters without slashes", s.Name)}
	}
	if !slices.Contains(cluster.Persistences, cluster.Persistence(s.Persistence)) {
		return UnknownValue("persistence", s.Persistence, cluster.Persistences)
	}
	if !slices.Contains(Drivers, s.Driver) {
		return UnknownValue("driver", s.Driver, Drivers)
	}
	if s.ClientsAs != Goroutines && s.ClientsAs != Processes {
		return UnknownValue("clients_as", s.ClientsAs, []string{Goroutines, Processes})
	}
	if s.ClientsAs == Processes && (s.Driver == Sim || s.Driver == Virtual) {
		return &Problem{"clients_as", "clients that are processes need real masters: choose another driver, or clients_as: goroutines"}
	}
	if s.Resource != "" && !slices.Contains(workload.Protocols, s.Resource) {
		return UnknownValue("resource", string(s.Resource), workload.Protocols)
	}
	if s.Network != (Network{}) && s.Driver != Sim && s.Driver != Auto {
		return &Problem{"network", "only a simulated network loses, doubles and delays messages to order: use driver: sim, or the faults partition, slow and reset"}
	}
	if s.Scheduler != "" && !slices.Contains(Schedulers, s.Scheduler) {
		return UnknownValue("scheduler", s.Scheduler, Schedulers)
	}
	if s.Eviction != "" && !slices.Contains(cluster.Evictions, cluster.Eviction(s.Eviction)) {
		return UnknownValue("eviction", s.Eviction, cluster.Evictions)
	}
	if s.MaxMemory != 0 && s.MaxMemory < 2<<20 {
		return &Problem{"max_memory", fmt.Sprintf("%d bytes are too few for Redis: at least 2097152 (2 MiB)", s.MaxMemory)}
	}
	if s.Wait > s.Replicas || s.Wait < 0 {
		return &Problem{"wait", fmt.Sprintf("%d is out of range: 0 to the number of replicas, %d", s.Wait, s.Replicas)}
	}
	for _, l := range []struct {
		field      string
		n, min, to int
	}{{"replicas", s.Replicas, 0, 2}, {"masters", s.Masters, 1, 15}, {"clients", s.Clients, 1, 100}, {"keys", s.Keys, 1, 1000}} {
		if l.n < l.min || l.n > l.to {
			return &Problem{l.field, fmt.Sprintf("%d is out of range: %d to %d", l.n, l.min, l.to)}
		}
	}
	return nil
}

func (s *Scenario) checkHow() *Problem {
	if _, _, err := s.holdRange(); err != nil {
		return &Problem{"hold", err.Error()}
	}
	for _, d := range []struct {
		field  string
		d, min time.Duration
	}{
		{"ttl", s.TTL, 50 * time.Millisecond}, {"time_limit", s.TimeLimit, time.Second}, {"timeout", s.Timeout, 0},
		{"interval", s.Interval, 0}, {"restart_delay", s.RestartDelay, 0}, {"fsync_delay", s.FsyncDelay, 0}, {"outage", s.Outage, 0}, {"stall", s.Stall, 0},
		{"network.late_by", s.Network.LateBy, 0}, {"network.apart", s.Network.Apart, 0},
	} {
		if d.d < d.min || d.d > 24*time.Hour {
			return &Problem{d.field, fmt.Sprintf("%v is out of range: %v to 24h", d.d, d.min)}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(s.ClientTTL)) {
		if !slices.Contains(workload.Clients(s.Clients), c) {
			return UnknownValue("client_ttl", c, workload.Clients(s.Clients))
		}
		if d := s.ClientTTL[c]; d < 50*time.Millisecond || d > s.TTL {
			return &Problem{"client_ttl." + c, fmt.Sprintf("%v is out of range: 50ms to the ttl, %v", d, s.TTL)}
		}
	}
	for i, a := range s.Arrivals {
		field := fmt.Sprintf("arrivals[%d]", i)
		if !slices.Contains(workload.Clients(s.Clients), a.Client) {
			return UnknownValue(field+".client", a.Client, workload.Clients(s.Clients))
		}
		if a.Key != "" && !slices.Contains(workload.Keys(s.Keys), a.Key) {
			return UnknownValue(field+".key", a.Key, workload.Keys(s.Keys))
		}
		if a.At < 0 || a.At > 24*time.Hour || a.Hold < 0 || a.Hold > 24*time.Hour {
			return &Problem{field, "at and hold are 0s to 24h"}
		}
	}
	for _, p := range []struct {
		field string
		p     float64
	}{
		{"long_holds", s.LongHolds}, {"extend", s.Extend}, {"network.loss", s.Network.Loss},
		{"network.duplicate", s.Network.Duplicate}, {"network.late", s.Network.Late},
	} {
		if !(p.p >= 0 && p.p <= 1) { // NaN is neither
			return &Problem{p.field, fmt.Sprintf("%v is not a probability: 0 to 1", p.p)}
		}
	}
	for i, p := range s.Properties {
		if known := append(Levels(), PropertyNames()...); !slices.Contains(known, p) {
			return UnknownValue(fmt.Sprintf("properties[%d]", i), p, known)
		}
	}
	return nil
}

func (s *Scenario) checkFaults() *Problem {
	if s.Nemesis != Random && s.Nemesis != Guided {
		return UnknownValue("nemesis", s.Nemesis, []string{Random, Guided})
	}
	for i, f := range s.Faults {
		if _, ok := fault.Named(f); !ok {
			return UnknownValue(fmt.Sprintf("faults[%d]", i), f, append(fault.Names(), "none"))
		}
	}
	if p := checkClock("clock", s.Clock); p != nil {
		return p
	}
	if s.ClientClock != "" {
		if p := checkClock("client_clock", s.ClientClock); p != nil {
			return p
		}
		if s.ClientRate != 0 {
			return &Problem{"client_rate", fmt.Sprintf("client_clock says %s already: write one", s.ClientClock)}
		}
	}
	if s.ClientRate != 0 && !rateInRange(s.ClientRate) {
		return &Problem{"client_rate", fmt.Sprintf("%v is out of range: 0.001 to 1000 seconds in a true one", s.ClientRate)}
	}
	for i, t := range s.Targets {
		if !slices.Contains(nemesis.Targets, t) {
			return UnknownValue(fmt.Sprintf("targets[%d]", i), t, nemesis.Targets)
		}
	}
	return nil
}

// rateInRange reports whether a clock may run at a rate. At a lower rate, a run would not end.
func rateInRange(rate float64) bool { return rate >= 0.001 && rate <= 1000 }

// checkClock returns what is wrong with a clock setting, or "".
func checkClock(field, text string) *Problem {
	if text == "" {
		return nil
	}
	clock, _, err := nemesis.ParseClock(text)
	switch {
	case err != nil:
		return &Problem{field, err.Error()}
	case clock.Rate != 0 && !rateInRange(clock.Rate):
		return &Problem{field, fmt.Sprintf("%s is out of range: the rate is 0.001 to 1000", text)}
	case clock.Offset.Abs() > 365*24*time.Hour:
		return &Problem{field, fmt.Sprintf("%s is out of range: at most a year", text)}
	}
	return nil
}

// checkStep returns what is wrong with the numbers of a step.
func checkStep(s Step, field string) *Problem {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"at", s.At}, {"plus", s.Plus}, {"for", s.For}, {"delay", s.Delay}} {
		if d.d < 0 || d.d > 24*time.Hour {
			return &Problem{field + "." + d.name, fmt.Sprintf("%v is out of range: 0s to 24h", d.d)}
		}
	}
	if s.Rate != 0 && !rateInRange(s.Rate) {
		return &Problem{field + ".rate", fmt.Sprintf("%v is out of range: 0.001 to 1000 seconds in a true one", s.Rate)}
	}
	return checkClock(field+".clock", s.Clock)
}

func (s *Scenario) checkSchedule() *Problem {
	for i, step := range s.Schedule {
		if p := checkStep(step, fmt.Sprintf("schedule[%d]", i)); p != nil {
			return p
		}
		if (step.Point == workload.BeforeMark || step.Point == workload.BeforeRead) && !s.Resource.Compares() {
			return &Problem{fmt.Sprintf("schedule[%d].point", i), fmt.Sprintf("clients pass %s only at a resource with compare-and-set: add resource: %s or %s", step.Point, workload.MarkFirst, workload.MarkLast)}
		}
		if err := step.Check(s.Masters, workload.Clients(s.Clients), s.points()); err != nil {
			return &Problem{fmt.Sprintf("schedule[%d]", i), err.Error()}
		}
		if fault.Of(step.Fault).Client == fault.ClientEnds && step.Point == workload.AfterQuorum && !s.processes() {
			return &Problem{fmt.Sprintf("schedule[%d]", i), "client-kill at after-quorum needs clients as processes (clients_as: processes)"}
		}
		if step.At > 0 && step.After != "" {
			return &Problem{fmt.Sprintf("schedule[%d]", i), "a step has a time (at) or a trigger (after), not both"}
		}
	}
	return nil
}

// points are the points at which a schedule can stop clients; processes can be stopped
// anywhere.
func (s *Scenario) points() []string {
	points := append(s.Resource.Points(), workload.BetweenCommands)
	if s.processes() {
		points = append(points, "")
	}
	return points
}

// needs reports whether a fault of the scenario needs a feature of the masters.
func (s *Scenario) needs(what string) bool {
	return slices.ContainsFunc(s.FaultNames(), func(f string) bool { return fault.Of(f).Needs == what })
}

// Config returns the configuration of the masters, for every driver.
func (s *Scenario) Config() cluster.Config {
	return cluster.Config{
		Masters: s.Masters, Persistence: cluster.Persistence(s.Persistence),
		MaxMemory: s.MaxMemory, Eviction: cluster.Eviction(s.Eviction), Replicas: s.Replicas,
	}
}

// WithRequirements fills in what the faults of the scenario need: a replica for failovers, a
// memory limit for the fault memory.
func (s Scenario) WithRequirements() Scenario {
	if s.foreign() {
		s.ClientsAs = Processes
		if s.Lock == Defaults().Lock {
			s.Lock = label(s.Client)
		}
		if s.Name == Defaults().Name {
			s.Name = s.Lock
		}
	}
	if s.needs(fault.Replicas) && s.Replicas == 0 {
		s.Replicas = 1
	}
	if (s.needs(fault.Memory) || s.Eviction != "") && s.MaxMemory == 0 {
		s.MaxMemory = 4 << 20
	}
	if s.MaxMemory > 0 && s.Eviction == "" {
		s.Eviction = "allkeys-lru"
	}
	return s
}

// PropertiesOf finds the properties with some levels or names; without arguments, all.
func PropertiesOf(names []string) []checker.Property {
	if len(names) == 0 {
		return checker.Properties
	}
	var out []checker.Property
	for _, p := range checker.Properties {
		if slices.Contains(names, p.Level) || slices.Contains(names, p.Name) {
			out = append(out, p)
		}
	}
	return out
}

// ShortName is a property's level, or its name if several properties have that level.
func ShortName(p checker.Property) string {
	if len(PropertiesOf([]string{p.Level})) == 1 {
		return p.Level
	}
	return p.Name
}

// Levels names the levels that a verdict can have.
func Levels() []string {
	var levels []string
	for _, p := range checker.Properties {
		if !slices.Contains(levels, p.Level) {
			levels = append(levels, p.Level)
		}
	}
	return levels
}

// PropertyNames names the properties themselves.
func PropertyNames() []string {
	var names []string
	for _, p := range checker.Properties {
		names = append(names, p.Name)
	}
	return names
}

// holdRange parses the hold time: "500ms", or "0s..1s".
func (s *Scenario) holdRange() (from, to time.Duration, err error) {
	a, b, isRange := strings.Cut(s.Hold, "..")
	if !isRange {
		b = a
	}
	if from, err = parseDuration(a); err == nil {
		to, err = parseDuration(b)
	}
	if err != nil || from < 0 || to < from {
		return 0, 0, fmt.Errorf("%q is not a hold time: write a duration or a range, such as 500ms or 0s..1s", s.Hold)
	}
	return from, to, nil
}

// parseDuration allows a bare 0, as in 0..1s.
func parseDuration(s string) (time.Duration, error) { return time.ParseDuration(strings.TrimSpace(s)) }

// FaultNames returns the kinds of fault of the scenario, in its schedule or for the nemesis to
// draw from.
func (s *Scenario) FaultNames() []string {
	if len(s.Schedule) == 0 {
		return s.Faults
	}
	var names []string
	for _, step := range s.Schedule {
		if !slices.Contains(names, step.Fault) {
			names = append(names, step.Fault)
		}
	}
	return names
}

// NemesisName says what chooses the steps: schedule, random, guided or none.
func (s *Scenario) NemesisName() string {
	switch {
	case len(s.Schedule) > 0:
		return "schedule"
	case len(s.Faults) == 0:
		return "none"
	}
	return s.Nemesis
}

// UnknownValue is the problem of a field whose value is not one of the allowed values.
func UnknownValue[T ~string](field, got string, allowed []T) *Problem {
	var names []string
	for _, a := range allowed {
		names = append(names, string(a))
	}
	return &Problem{field, fmt.Sprintf("%q is unknown: use one of %s", got, strings.Join(names, ", "))}
}
