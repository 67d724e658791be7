package audit

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/workload"
)

// Situation is something that happens to locks, described as data: a row of the report card.
type Situation struct {
	ID       string   `yaml:"id"`               // short and unique: restart-forgets
	Name     string   `yaml:"name"`             // a few words, for the card
	Says     string   `yaml:"says"`             // one sentence: what happens
	Breaks   string   `yaml:"breaks,omitempty"` // the name of the assumption of a correct lock that it breaks; empty: none
	Judges   []string `yaml:"judges"`           // levels and properties that it must decide; others need evidence
	Inherent []string `yaml:"inherent,omitempty"`
	Why      string   `yaml:"why,omitempty"`  // why no lock keeps the inherent properties
	Help     string   `yaml:"help,omitempty"` // what users can do about it
	Needs    []string `yaml:"needs,omitempty"`

	// Kind is the kind of locks that the situation is about; empty: of all. Locks of other kinds have no row for it.
	Kind history.LockKind `yaml:"kind,omitempty"`

	Scenario ast.Node `yaml:"scenario,omitempty"` // fields that all its cases share
	Cases    []Case   `yaml:"cases"`

	Group string `yaml:"-"` // title of its group
}

// Assumption returns the assumption of a correct lock that the situation breaks, as a sentence; empty: none.
func (s *Situation) Assumption() string {
	a, _ := judge.AssumptionNamed(s.Breaks)
	return a.Says
}

// Case is one scenario of a situation.
type Case struct {
	Name    string   `yaml:"name,omitempty"`
	Needs   []string `yaml:"needs,omitempty"`
	Explore bool     `yaml:"explore,omitempty"` // the simulator draws schedules from the scenario (search.Schedule)
	Over    ast.Node `yaml:"scenario,omitempty"`
	Quick   int      `yaml:"quick,omitempty"`  // number of schedules with the quick budget; 0: the default
	Real    Real     `yaml:"real,omitempty"`   // settings for real masters
	NotOn   []string `yaml:"not_on,omitempty"` // drivers that cannot run it

	Scenario scenario.Scenario `yaml:"-"` // complete, except for the lock
}

// Real says how a case runs on real masters.
type Real struct {
	TimeLimit scenario.Duration `yaml:"time_limit,omitempty"` // of each run; 0: the scenario's
	Full      bool              `yaml:"full,omitempty"`       // only with the full budget, because it takes long
}

// Names of the abilities that a situation or a case may need of the lock.
const (
	NeedsOne     = "one-master"   // the lock uses one master
	NeedsMany    = "many-masters" // the lock takes votes of several masters
	NeedsExtend  = "extend"       // leases can be extended
	NeedsFencing = "fencing"      // the lock issues fencing tokens
	NeedsWait    = "wait"         // the lock can wait for replicas
	NeedsPoints  = "points"       // its clients report the steps that they reach
	NeedsSignals = "signals"      // its clients are processes, which can be stopped anywhere
	NeedsClocks  = "clocks"       // the clocks of its clients can be changed
	NeedsInside  = "in-process"   // its clients are part of this program
	NeedsSingle  = "one-grant"    // the lock does not say that it is re-entrant
	NeedsShared  = "shared"       // several of its clients can share one process
	NeedsService = "service"      // the lock uses a service: servers that know each other
)

// needs maps each ability to the reason that skips a lock without it.
var needs = map[string]string{
	NeedsOne:     "the lock takes votes of several masters",
	NeedsMany:    "the lock lives on one master",
	NeedsExtend:  "its leases cannot be extended",
	NeedsFencing: "it gives no fencing tokens",
	NeedsWait:    "it does not wait for replicas",
	NeedsPoints:  "its clients do not tell at which step they are",
	NeedsSignals: "its clients are not processes, and stop at named steps",
	NeedsClocks:  "the clocks of its clients cannot be changed",
	NeedsInside:  "its clients are processes, which take one call at a time",
	NeedsShared:  "its client serves one client at a time: it does not say that it can be \"shared\"",
	NeedsSingle:  "the lock is re-entrant: it is granted again to its holder",
	NeedsService: "the masters are independent: they have no connections with each other",
}

// Subject is the lock under audit.
type Subject struct {
	Lock      string
	Client    []string // the command that runs as each client; empty: one of Lockpick's own locks
	Library   string
	Service   string           // the store whose servers it uses; empty: masters of Redis
	Kind      history.LockKind // which holds may overlap; empty: a mutex
	One       bool             // uses one master
	Extends   bool
	Fencing   bool
	Waits     bool // can wait for replicas
	Points    bool
	Clocks    bool
	Shares    bool               // several of its clients can share one process
	Reentrant bool               // says that it is re-entrant
	Queues    bool               // has a queue that waits for dead waiters
	TTLs      *workload.Lifespan // TTLs that it accepts; nil: any
}

// judges reports whether any property of a level, or the property of this name, is judged of the subject.
func (s *Subject) judges(name string) bool {
	return !s.unread(cmp.Or(checker.Named(name).Level, name)) && slices.ContainsFunc(checker.PropertiesOf([]string{name}), func(p checker.Property) bool {
		return p.ExemptsKind(s.kind()) == "" && (s.Service == "" || !p.Votes)
	})
}

// unread reports whether a level is about what servers store, and the subject's servers are a service: that is not read.
func (s *Subject) unread(level string) bool { return s.Service != "" && leadingVotes(level) != "" }

func (s *Subject) kind() history.LockKind { return cmp.Or(s.Kind, history.Mutex) }

// has reports whether the lock has an ability.
func (s *Subject) has(need string) bool {
	switch need {
	case NeedsOne:
		return s.One && s.Service == ""
	case NeedsMany:
		return !s.One && s.Service == ""
	case NeedsExtend:
		return s.Extends
	case NeedsFencing:
		return s.Fencing
	case NeedsWait:
		return s.Waits
	case NeedsPoints:
		return s.Points
	case NeedsSignals:
		return len(s.Client) > 0
	case NeedsClocks:
		return s.Clocks
	case NeedsInside:
		return len(s.Client) == 0
	case NeedsShared:
		return s.Shares
	case NeedsSingle:
		return !s.Reentrant
	case NeedsService:
		return s.Service != ""
	}
	return false
}

// lacks returns the reason for the first ability that the lock does not have, or "".
func (s *Subject) lacks(wanted []string) string {
	for _, n := range wanted {
		switch {
		case s.has(n):
		case s.Service != "" && (n == NeedsOne || n == NeedsMany):
			return "the servers of " + s.Service + " are one store: they give no votes"
		default:
			return needs[n]
		}
	}
	return ""
}

// Levels returns the columns of the card: the levels of the properties that an audit judges.
func Levels() []string {
	return slices.DeleteFunc(checker.Levels(), func(l string) bool {
		return !slices.ContainsFunc(checker.PropertiesOf([]string{l}), func(p checker.Property) bool { return !p.NotOfLock })
	})
}

// properties returns the names of the properties that an audit judges: all that say something about the lock alone.
func properties() []string {
	return slices.DeleteFunc(checker.PropertyNames(), func(name string) bool { return checker.Named(name).NotOfLock })
}

// featureOf returns what a property, or all properties of a level, need of a lock.
func featureOf(name string) checker.Feature {
	if p := checker.Named(name); p.Name != "" {
		return p.Needs
	}
	return checker.PropertiesOf([]string{name})[0].Needs
}

// isInherent reports whether no lock keeps a property in the situation.
func (s *Situation) isInherent(property string) bool {
	return slices.Contains(s.Inherent, property) || slices.Contains(s.Inherent, checker.Named(property).Level)
}

// queued returns the situation for a lock with a queue. As documented, such a lock waits for each
// dead waiter, so a lack of progress is inherent.
func (s Situation) queued() Situation {
	if p := checker.Progress.Name; !s.isInherent(p) {
		s.Inherent = append(slices.Clone(s.Inherent), p)
		s.Why = strings.TrimSpace(s.Why + " As documented, the lock's queue waits for waiters that are gone.")
	}
	return s
}

// extra returns the properties that are judged only in situations that name them.
func (s *Situation) extra() []string {
	return slices.DeleteFunc(slices.Clone(s.Judges), func(name string) bool { return !checker.Named(name).OnlyClaims })
}

var plainID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)

// check returns what is wrong with the situation, as a *scenario.Problem with the path below it.
func (s *Situation) check() *scenario.Problem {
	if !plainID.MatchString(s.ID) {
		return &scenario.Problem{Field: "id", Says: fmt.Sprintf("%q names folders: use small letters, digits and dashes", s.ID)}
	}
	if s.Name == "" || s.Says == "" || len(s.Cases) == 0 || len(s.Judges) == 0 {
		return &scenario.Problem{Field: "id", Says: s.ID + ": a situation has a name, says, judges and cases"}
	}
	if (len(s.Inherent) == 0) != (s.Why == "") {
		return &scenario.Problem{Field: "why", Says: s.ID + ": what is inherent has a reason, and nothing else has"}
	}
	known := slices.Concat(Levels(), properties())
	for field, names := range map[string][]string{"judges": s.Judges, "inherent": s.Inherent} {
		for i, name := range names {
			if !slices.Contains(known, name) && !checker.Named(name).OnlyClaims {
				return scenario.UnknownValue(fmt.Sprintf("%s[%d]", field, i), name, known)
			}
		}
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		for j, n := range slices.Concat(s.Needs, c.Needs) {
			if needs[n] == "" {
				return &scenario.Problem{Field: fmt.Sprintf("cases[%d].needs[%d]", i, j), Says: fmt.Sprintf("%q is unknown", n)}
			}
		}
		whole := c.Scenario
		if s.Kind != "" {
			whole.Lock = workload.NamesOfKind(s.Kind)[0]
		}
		if slices.Contains(s.Needs, NeedsService) {
			whole = placed(whole, imagined)
		}
		if slices.Contains(slices.Concat(s.Needs, c.Needs), NeedsSignals) {
			whole.ClientsAs, whole.Driver = scenario.Processes, scenario.Process
		}
		if err := whole.Check(); err != nil {
			p := err.(*scenario.Problem)
			return &scenario.Problem{Field: fmt.Sprintf("cases[%d].scenario.%s", i, p.Field), Says: p.Says}
		}
	}
	return nil
}

// ofSome reports whether only some locks have a row for the situation: those of a kind, or those that use a service.
func (s *Situation) ofSome() bool { return s.Kind != "" || slices.Contains(s.Needs, NeedsService) }

// concerns reports whether the card of a lock has a row for the situation.
func (s *Situation) concerns(lock *Subject) bool {
	return (s.Kind == "" || s.Kind == lock.kind()) && (!slices.Contains(s.Needs, NeedsService) || lock.has(NeedsService))
}

// title returns the id of the situation, with the name of a case, for messages.
func (s *Situation) title(c *Case) string {
	if c.Name == "" {
		return s.ID
	}
	return s.ID + " (" + strings.TrimSpace(c.Name) + ")"
}
