package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/spelling"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Problem is a mistake in one field of a scenario.
type Problem struct {
	Field string // its path, such as ttl or schedule[1].fault
	Says  string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %s", p.Field, p.Says) }

// UnknownValue returns the problem of a field whose value is not one of the allowed values.
func UnknownValue[T ~string](field, got string, allowed []T) *Problem {
	var names []string
	for _, a := range allowed {
		names = append(names, string(a))
	}
	meant := ""
	if like := spelling.Nearest(got, names); like != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", like)
	}
	return &Problem{field, fmt.Sprintf("%q is unknown%s: use one of %s", got, meant, strings.Join(names, ", "))}
}

func checkName(s *Scenario) *Problem {
	if strings.ContainsAny(s.Name, "/\\") || s.Name == "" || len(s.Name) > 80 {
		return &Problem{"name", fmt.Sprintf("%q does not make a folder's name: 1 to 80 characters without slashes", s.Name)}
	}
	return nil
}

func checkLock(s *Scenario) *Problem {
	if _, ok := workload.LockNamed(s.Lock); !ok && !s.RunsCommand() {
		p := UnknownValue("lock", s.Lock, workload.CorrectNames())
		p.Says += ", or one that is wrong on purpose (lockpick list locks)"
		return p
	}
	if s.Connects() && slices.ContainsFunc(s.FaultNames(), fault.SkewsClients) {
		return &Problem{"faults", s.Lock + " reads the time by itself, as locks do that open their connections: leave out the faults of the clocks of its clients"}
	}
	return nil
}

func checkClient(s *Scenario) *Problem {
	switch {
	case !s.RunsCommand():
		return nil
	case s.Client[0] == "":
		return &Problem{"client", "the first word is empty: it is the program to run"}
	case s.Driver == Sim || s.Driver == Virtual:
		return &Problem{"client", "clients that are processes need real masters: choose another driver"}
	}
	return nil
}

// CheckSimulated returns the problem of a scenario whose clients are a program of the user if it is to be simulated, as
// all schedules of a search are.
func (s *Scenario) CheckSimulated() error {
	if !s.RunsCommand() {
		return nil
	}
	return &Problem{"client", "the clients are a program, which needs real masters, and here masters are simulated: use lockpick run, audit or replay"}
}

func checkFencing(s *Scenario) *Problem {
	if kind, _ := workload.LockNamed(s.Lock); s.Fencing && !kind.Fencing && !s.RunsCommand() {
		return &Problem{"fencing", fmt.Sprintf("the lock %s has no fencing tokens", s.Lock)}
	}
	return nil
}

// LockKind returns which holds may overlap, as far as the scenario says: of a command, that is what its client says.
func (s *Scenario) LockKind() history.LockKind {
	if s.Kind != "" || s.RunsCommand() {
		return s.Kind
	}
	kind, _ := workload.LockNamed(s.Lock)
	return cmp.Or(kind.Kind, history.Mutex)
}

func checkKind(s *Scenario) *Problem {
	lock, known := workload.LockNamed(s.Lock)
	if !known || s.RunsCommand() || s.Kind == "" || lock.Can(s.Kind) {
		return nil
	}
	says := fmt.Sprintf("the lock %s is a %s, not a %s", s.Lock, cmp.Or(lock.Kind, history.Mutex).Words(), s.Kind.Words())
	if able := workload.NamesOfKind(s.Kind); len(able) > 0 {
		says += ": use --lock " + strings.Join(able, " or --lock ") + ", or a lock of your own"
	}
	return &Problem{"kind", says}
}

func checkPermits(s *Scenario) *Problem {
	if kind := s.LockKind(); s.Permits != 0 && kind != history.Semaphore && kind != "" {
		return &Problem{"permits", fmt.Sprintf("a %s has no permits: they are of a semaphore", kind.Words())}
	}
	return nil
}

func checkReaders(s *Scenario) *Problem {
	if kind := s.LockKind(); s.Readers != 0 && kind != history.ReadWrite && kind != "" {
		return &Problem{"readers", fmt.Sprintf("a %s has no readers: they are of a read-write lock", kind.Words())}
	}
	return nil
}

func checkMaxMemory(s *Scenario) *Problem {
	if s.MaxMemory != 0 && s.MaxMemory < 2<<20 {
		return &Problem{"max_memory", fmt.Sprintf("%d bytes are too few for Redis: at least 2097152 (2 MiB)", s.MaxMemory)}
	}
	return nil
}

func checkWait(s *Scenario) *Problem {
	if s.Wait > s.Replicas || s.Wait < 0 {
		return &Problem{"wait", fmt.Sprintf("%d is out of range: 0 to the number of replicas, %d", s.Wait, s.Replicas)}
	}
	return nil
}

func checkACL(s *Scenario) *Problem {
	if s.ACL == "" {
		return nil
	}
	if _, err := cluster.ParseUsers(s.ACL); err != nil {
		return &Problem{"acl", err.Error()}
	}
	return s.checkGuarded("acl")
}

func checkTLS(s *Scenario) *Problem {
	if !s.TLS {
		return nil
	}
	return s.checkGuarded("tls")
}

// checkGuarded returns the problem of masters that have neither users nor TLS.
func (s *Scenario) checkGuarded(field string) *Problem {
	if s.Driver == Sim || s.Driver == Virtual {
		return &Problem{field, "simulated masters have no users and no TLS: use driver: process or docker"}
	}
	return nil
}

// Guarded reports whether clients need something to use links.
func (s *Scenario) Guarded() bool { return s.ACL != "" || s.TLS }

func checkClientsAs(s *Scenario) *Problem {
	if s.ClientsAs == Processes && (s.Driver == Sim || s.Driver == Virtual) {
		return &Problem{"clients_as", "clients that are processes need real masters: choose another driver, or clients_as: goroutines"}
	}
	return nil
}

func checkUsage(s *Scenario) *Problem {
	for i, u := range s.Usage {
		if workload.Usage(u).InProcess() && s.UsesProcesses() || workload.Usage(u).Shares() && s.UsesProcesses() && !s.RunsCommand() {
			return &Problem{fmt.Sprintf("usage[%d]", i), fmt.Sprintf("%s needs clients that are goroutines: a process is asked for one call at a time, without a way to cancel it", u)}
		}
		if !workload.Usage(u).Shares() {
			continue
		}
		for _, name := range s.FaultNames() {
			if !fault.Of(name).HitsMaster() {
				return &Problem{fmt.Sprintf("usage[%d]", i), fmt.Sprintf("with %s several clients are one process, and %s hits single clients: choose faults of masters, such as kill", u, name)}
			}
		}
		if len(s.ClientTTL) > 0 || s.Connects() {
			return &Problem{fmt.Sprintf("usage[%d]", i), fmt.Sprintf("with %s several clients are one process: they have the same TTL, and the lock does not connect by itself", u)}
		}
	}
	return nil
}

func checkClientTTL(s *Scenario) *Problem {
	for _, c := range slices.Sorted(maps.Keys(s.ClientTTL)) {
		if !slices.Contains(workload.Clients(s.Clients), c) {
			return UnknownValue("client_ttl", c, workload.Clients(s.Clients))
		}
		if d := s.ClientTTL[c]; d < 50*time.Millisecond || d > s.TTL {
			return &Problem{"client_ttl." + c, fmt.Sprintf("%v is out of range: 50ms to the ttl, %v", d, s.TTL)}
		}
	}
	return nil
}

func checkHold(s *Scenario) *Problem {
	if _, _, err := s.HoldRange(); err != nil {
		return &Problem{"hold", err.Error()}
	}
	return nil
}

func checkArrivals(s *Scenario) *Problem {
	for i, a := range s.Arrivals {
		field := fmt.Sprintf("arrivals[%d]", i)
		if !slices.Contains(workload.Clients(s.Clients), a.Client) {
			return UnknownValue(field+".client", a.Client, workload.Clients(s.Clients))
		}
		if a.Key != "" && !slices.Contains(workload.Keys(s.Keys), a.Key) {
			return UnknownValue(field+".key", a.Key, workload.Keys(s.Keys))
		}
		if a.At < 0 || a.At > day || a.Hold < 0 || a.Hold > day {
			return &Problem{field, "at and hold are 0s to 24h"}
		}
	}
	return nil
}

func checkNetwork(s *Scenario) *Problem {
	if s.Network != (Network{}) && s.Driver != Sim && s.Driver != Auto {
		return &Problem{"network", "only a simulated network loses, doubles and delays messages to order: use driver: sim, or the faults partition, slow and reset"}
	}
	return nil
}

func checkClientClock(s *Scenario) *Problem { return checkClock("client_clock", s.ClientClock) }

func checkClientRate(s *Scenario) *Problem {
	switch {
	case s.ClientRate == 0:
		return nil
	case s.ClientClock != "":
		return &Problem{"client_rate", fmt.Sprintf("client_clock says %s already: write one", s.ClientClock)}
	case !rateInRange(s.ClientRate):
		return &Problem{"client_rate", fmt.Sprintf("%v is out of range: 0.001 to 1000 seconds in a true one", s.ClientRate)}
	}
	return nil
}

// rateInRange reports whether a clock may run at a rate. At a lower rate a run would not end.
func rateInRange(rate float64) bool { return rate >= 0.001 && rate <= 1000 }

// checkClock returns the problem of a clock setting, or nil.
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
	case clock.Offset.Abs() > 365*day:
		return &Problem{field, fmt.Sprintf("%s is out of range: at most a year", text)}
	}
	return nil
}

// checkStep returns the first problem with the numbers and the clock of a step, or nil.
func checkStep(s Step, field string) *Problem {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"at", s.At}, {"plus", s.Plus}, {"for", s.For}, {"delay", s.Delay}} {
		if d.d < 0 || d.d > day {
			return &Problem{field + "." + d.name, fmt.Sprintf("%v is out of range: 0s to 24h", d.d)}
		}
	}
	if s.Rate != 0 && !rateInRange(s.Rate) {
		return &Problem{field + ".rate", fmt.Sprintf("%v is out of range: 0.001 to 1000 seconds in a true one", s.Rate)}
	}
	return checkClock(field+".clock", s.Clock)
}

func checkSchedule(s *Scenario) *Problem {
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
		if fault.Of(step.Fault).Client == fault.ClientEnds && step.Point == workload.AfterQuorum && !s.UsesProcesses() {
			return &Problem{fmt.Sprintf("schedule[%d]", i), "client-kill at after-quorum needs clients as processes (clients_as: processes)"}
		}
		if step.At > 0 && step.After != "" {
			return &Problem{fmt.Sprintf("schedule[%d]", i), "a step has a time (at) or a trigger (after), not both"}
		}
	}
	return nil
}
