package scenario

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Duration is a time.Duration, which YAML writes as in "1.5s".
type Duration = time.Duration

// Step is one fault of an explicit schedule.
type Step = nemesis.Step

// The nemeses, by name. A scenario with a schedule uses neither.
const (
	Random = "random"
	Guided = "guided"
)

// The schedulers of simulated masters, by name: random, and probabilistic concurrency testing (sim.PCT).
const (
	Uniform = "random"
	PCT     = "pct"
)

// Schedulers lists the schedulers that can be selected.
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

// RunsCommand reports whether the clients run a command of the user.
func (s *Scenario) RunsCommand() bool { return len(s.Client) > 0 }

// UsesProcesses reports whether clients are processes.
func (s *Scenario) UsesProcesses() bool { return s.ClientsAs == Processes || s.RunsCommand() }

// Connects reports whether the lock opens its own connections to the masters.
func (s *Scenario) Connects() bool {
	kind, _ := workload.LockNamed(s.Lock)
	return kind.Connects && !s.RunsCommand()
}

// points returns the points at which a schedule can stop clients. Processes can also be stopped anywhere
// ("").
func (s *Scenario) points() []string {
	points := append(s.Resource.Points(), workload.BetweenCommands)
	if s.UsesProcesses() {
		points = append(points, "")
	}
	return points
}

// Needs reports whether a fault of the scenario needs a feature of the masters.
func (s *Scenario) Needs(what string) bool {
	return slices.ContainsFunc(s.FaultNames(), func(f string) bool { return fault.Of(f).Needs == what })
}

// Config returns the configuration of the masters, for every driver.
func (s *Scenario) Config() cluster.Config {
	users, _ := cluster.ParseUsers(s.ACL) // was checked
	return cluster.Config{
		Users: users, TLS: s.TLS,
		Masters: s.Masters, Persistence: cluster.Persistence(s.Persistence),
		MaxMemory: s.MaxMemory, Eviction: cluster.Eviction(s.Eviction), Replicas: s.Replicas, Admin: s.Admin,
		Image: s.Image, Server: s.Server, At: s.addresses(),
	}
}

// Software returns what runs as masters.
func (s *Scenario) Software() cluster.Software {
	return cluster.Software{Image: s.Image, Server: s.Server}
}

// UseSoftware sets what runs as masters; empty fields change nothing.
func (s *Scenario) UseSoftware(want cluster.Software) {
	s.Image, s.Server = cmp.Or(want.Image, s.Image), cmp.Or(want.Server, s.Server)
}

// Simulated returns the scenario for the driver sim, without the fields that only real servers have: a run on
// another server, or one with users and TLS, is simulated as any other.
func (s Scenario) Simulated() Scenario {
	s.Driver = Sim
	s.Server, s.Image, s.ACL, s.TLS, s.At = "", "", "", false, nil
	return s
}

// WithRequirements returns the scenario with the settings that it implies: the name of its lock, a replica for failovers, a memory
// limit for the fault memory, several keys for a multi-lock, and for a client command the process clients and the lock's name.
func (s Scenario) WithRequirements() Scenario {
	if s.RunsCommand() {
		s.ClientsAs = Processes
		if s.Lock == Defaults().Lock {
			s.Lock = label(s.Client)
		}
	}
	if s.Name == Defaults().Name {
		s.Name = s.Lock
	}
	if s.Needs(fault.Replicas) && s.Replicas == 0 {
		s.Replicas = 1
	}
	if (s.Needs(fault.Memory) || s.Eviction != "") && s.MaxMemory == 0 {
		s.MaxMemory = 4 << 20
	}
	if s.LockKind() == history.Multi && s.Keys == Defaults().Keys && len(s.Arrivals) == 0 {
		s.Keys = multiKeys
	}
	if s.MaxMemory > 0 && s.Eviction == "" {
		s.Eviction = "allkeys-lru"
	}
	return s
}

// multiKeys is the number of keys of a multi-lock, unless the scenario names another one.
const multiKeys = 3

// HoldRange parses the hold time, as in "500ms" or "0s..1s".
func (s *Scenario) HoldRange() (from, to time.Duration, err error) {
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

// parseDuration parses a duration that may have spaces around it.
func parseDuration(s string) (time.Duration, error) { return time.ParseDuration(strings.TrimSpace(s)) }

// FaultNames returns the kinds of fault in the scenario: those of its schedule, or those that the nemesis
// draws from.
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

// NemesisName returns the source of the faults: schedule, random, guided or none.
func (s *Scenario) NemesisName() string {
	switch {
	case len(s.Schedule) > 0:
		return "schedule"
	case len(s.Faults) == 0:
		return "none"
	}
	return s.Nemesis
}

// WantedClientClock returns the change that the fault client-clock makes, or "" if it is drawn.
func (s *Scenario) WantedClientClock() string {
	if s.ClientRate > 0 {
		return "x" + strconv.FormatFloat(s.ClientRate, 'g', -1, 64)
	}
	return s.ClientClock
}

// label returns the default name of the lock that a command tests, such as "lock" for python3 lock.py.
func label(command []string) string {
	name := filepath.Base(command[0])
	for _, arg := range command[1:] {
		if !strings.HasPrefix(arg, "-") {
			name = filepath.Base(arg)
			break
		}
	}
	if cut := strings.TrimSuffix(name, filepath.Ext(name)); cut != "" {
		name = cut
	}
	return name[:min(len(name), 80)]
}
