package claims

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/search"
)

// Claim is a statement about a lock, the cases that test it, and the verdict that each case must
// have. A catalogue is YAML: docs/writing-claims.md describes its fields.
type Claim struct {
	ID      string   `yaml:"id"`      // short and unique: 35, b3
	Slug    string   `yaml:"slug"`    // part of the names of its runs: restart-without-persistence
	Claim   string   `yaml:"claim"`   // the sentence, as in its source
	Sources []string `yaml:"sources"` // where the sentence is from
	Denied  []string `yaml:"denied,omitempty"`
	Basis   string   `yaml:"basis"` // the basis of the expected verdicts: theory, measured, code, judgement
	Verdict string   `yaml:"verdict"`
	Truth   Truth    `yaml:"truth,omitempty"` // whether the sentence is true; of a planted bug: empty
	Explain string   `yaml:"explain"`         // the explanation for readers

	Scenario ast.Node `yaml:"scenario,omitempty"` // the fields that all its cases share
	Cases    []Case   `yaml:"cases"`

	Group string `yaml:"-"` // the title of its file
	Bug   bool   `yaml:"-"` // the claim is about a planted bug
}

// Truth says whether the sentence of a claim is true, if its verdicts are the expected ones.
type Truth string

// The truths of claims.
const (
	Confirmed Truth = "confirmed"
	Refuted   Truth = "refuted"
	Depends   Truth = "depends" // on what the verdict says
)

// Truths lists the truths of claims.
var Truths = []Truth{Confirmed, Refuted, Depends}

// Case is one scenario of a claim and the verdicts that it must have.
type Case struct {
	Name   string   `yaml:"name"`
	Shows  string   `yaml:"shows"` // one sentence: what happens
	Over   ast.Node `yaml:"scenario,omitempty"`
	Expect []Expect `yaml:"expect,omitempty"`

	Schedules Schedules         `yaml:"schedules,omitempty"`
	Real      Real              `yaml:"real,omitempty"`
	NotOn     map[string]string `yaml:"not_on,omitempty"` // by driver: why it cannot run there
	Twin      *Twin             `yaml:"twin,omitempty"`
	Measure   []string          `yaml:"measure,omitempty"` // names of metrics that it measures, with or without expected verdicts

	Scenario scenario.Scenario `yaml:"-"` // complete
}

// Expect is the verdict that a case must have on one property. A violation counts only if it has
// the expected reason.
type Expect struct {
	Property string          `yaml:"property"` // mutual-exclusion, …
	Verdict  checker.Verdict `yaml:"verdict"`  // violated, holds
	Faults   []string        `yaml:"faults,omitempty"`
	Because  string          `yaml:"because,omitempty"` // a regular expression that the summary or a line of the reason must match

	because *regexp.Regexp
}

// Level returns the level of the expected property.
func (e *Expect) Level() string { return checker.Named(e.Property).Level }

// Schedules sets the number of schedules in the simulator for each budget; 0: the budget's default.
type Schedules struct {
	Quick int `yaml:"quick,omitempty"`
	Full  int `yaml:"full,omitempty"`
}

// Real says how the case runs on real masters.
type Real struct {
	Attempts  int               `yaml:"attempts,omitempty"`   // maximum number of runs until one is as expected; 0: 3
	TimeLimit scenario.Duration `yaml:"time_limit,omitempty"` // of each; 0: the scenario's
	Full      bool              `yaml:"full,omitempty"`       // only with the full budget
}

// Twin is the same case without the one thing that causes the violation. Each property that the
// case violates must hold for the twin.
type Twin struct {
	Shows    string            `yaml:"shows"`
	Over     ast.Node          `yaml:"scenario"`
	Scenario scenario.Scenario `yaml:"-"`
}

// Values of Options.Keep: the findings for which a verification keeps a run as evidence.
const (
	KeepAll        = "all"
	KeepViolated   = "violated"   // findings with a violation, and the findings of KeepUnexpected
	KeepUnexpected = "unexpected" // findings that differ from the expected verdict, and undecided ones
	KeepNone       = "none"
)

// Keeps lists the values of Options.Keep.
var Keeps = []string{KeepAll, KeepViolated, KeepUnexpected, KeepNone}

// tries returns how many schedules a budget allows in the simulator.
func (c *Case) tries(budget string) int {
	n := Schedules{Quick: 20, Full: 500}
	if c.Schedules.Quick > 0 {
		n.Quick = c.Schedules.Quick
	}
	if c.Schedules.Full > 0 {
		n.Full = c.Schedules.Full
	}
	if budget == search.Full {
		return max(n.Quick, n.Full)
	}
	return n.Quick
}

// attempts returns how many runs a budget allows on real masters.
func (c *Case) attempts(budget string) int {
	n := c.Real.Attempts
	if n == 0 {
		n = 3
	}
	if budget == search.Full {
		n *= 3
	}
	return n
}

// CannotRun returns why the case does not run on a driver with a budget, or "".
func (c *Case) CannotRun(driver, budget string) string {
	if why := c.NotOn[driver]; why != "" {
		return why
	}
	if on := c.Scenario.Service; on != nil && driver != scenario.Process {
		return "the servers of " + on.Name + " run as processes: use --driver " + scenario.Process
	}
	if driver == scenario.Sim && c.Scenario.ClientsAs == scenario.Processes {
		return "its clients are processes, which need real masters"
	}
	if driver == scenario.Virtual && c.Scenario.Network != (scenario.Network{}) {
		return "its connections carry streams, as TCP does: no single message is lost, doubled or late"
	}
	if driver != scenario.Sim && c.Scenario.Network != (scenario.Network{}) {
		return "a real network does not lose, double or delay messages to order"
	}
	if driver != scenario.Sim && c.Real.Full && budget != search.Full {
		return "only with --budget full on real masters: it takes long there"
	}
	return ""
}

// check returns what is wrong with the claim, as a *scenario.Problem with the path below the claim.
func (c *Claim) check() *scenario.Problem {
	for _, f := range []struct{ field, value string }{{"id", c.ID}, {"slug", c.Slug}, {"claim", c.Claim}} {
		if f.value == "" {
			return &scenario.Problem{Field: f.field, Says: "it is missing: a claim has an id, a slug, the claim itself and cases"}
		}
	}
	for _, f := range []struct{ field, value string }{{"id", c.ID}, {"slug", c.Slug}} {
		if !plainName.MatchString(f.value) {
			return &scenario.Problem{Field: f.field, Says: fmt.Sprintf("%q names files and anchors: use letters, digits and dashes", f.value)}
		}
	}
	for _, f := range []struct{ field, value string }{{"claim", c.Claim}, {"basis", c.Basis}, {"verdict", c.Verdict}, {"explain", c.Explain}, {"sources", strings.Join(c.Sources, "")}, {"denied", strings.Join(c.Denied, "")}} {
		if p := unprintable(f.field, f.value); p != nil {
			return p
		}
	}
	if c.Truth != "" && !slices.Contains(Truths, c.Truth) {
		return scenario.UnknownValue("truth", string(c.Truth), Truths)
	}
	if len(c.Cases) == 0 {
		return &scenario.Problem{Field: "cases", Says: "there is none: a claim needs a case, which is a scenario and what to expect of it"}
	}
	seen := map[string]bool{}
	for i := range c.Cases {
		k := &c.Cases[i]
		at := fmt.Sprintf("cases[%d]", i)
		if seen[k.Name] || k.Name == "" && len(c.Cases) > 1 {
			return &scenario.Problem{Field: at + ".name", Says: fmt.Sprintf("%q does not tell the case from the others: give each a name of its own", k.Name)}
		}
		seen[k.Name] = true
		if p := k.check(); p != nil {
			return &scenario.Problem{Field: at + "." + p.Field, Says: p.Says}
		}
	}
	return nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,60}$`)

// unprintable returns the problem of a text with characters that command a terminal or turn the direction of writing:
// catalogues come from other people, too, and their texts are printed.
func unprintable(field, text string) *scenario.Problem {
	at := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	})
	if at < 0 {
		return nil
	}
	return &scenario.Problem{Field: field, Says: fmt.Sprintf("%.20q has a control character: use printable text", text[at:])}
}

func (c *Case) check() *scenario.Problem {
	texts := map[string]string{"name": c.Name, "shows": c.Shows}
	for driver, why := range c.NotOn {
		texts["not_on"] += driver + why
	}
	if c.Twin != nil {
		texts["twin.shows"] = c.Twin.Shows
	}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		if p := unprintable(field, texts[field]); p != nil {
			return p
		}
	}
	if p := c.checkScenarios(); p != nil {
		return p
	}
	if len(c.Expect) == 0 && len(c.Measure) == 0 {
		return &scenario.Problem{Field: "expect", Says: "there is nothing: say which property is violated or holds, or what to measure"}
	}
	violated := false
	for i := range c.Expect {
		e := &c.Expect[i]
		at := fmt.Sprintf("expect[%d].", i)
		if checker.Named(e.Property).Name == "" {
			return scenario.UnknownValue(at+"property", e.Property, checker.AllNames())
		}
		if e.Verdict != checker.Violated && e.Verdict != checker.Holds {
			return scenario.UnknownValue(at+"verdict", string(e.Verdict), []string{string(checker.Violated), string(checker.Holds)})
		}
		violated = violated || e.Verdict == checker.Violated
		if e.Verdict == checker.Holds && (len(e.Faults) > 0 || e.Because != "") {
			return &scenario.Problem{Field: at + "verdict", Says: "only a violation has a reason: what holds takes no faults and no because"}
		}
		for j, f := range e.Faults {
			if !slices.Contains(c.Scenario.FaultNames(), f) {
				return &scenario.Problem{Field: fmt.Sprintf("%sfaults[%d]", at, j), Says: fmt.Sprintf("the scenario has no fault %q that could be the reason", f)}
			}
		}
		var err error
		if e.because, err = regexp.Compile(e.Because); err != nil {
			return &scenario.Problem{Field: at + "because", Says: err.Error()}
		}
	}
	if c.Twin != nil && !violated {
		return &scenario.Problem{Field: "twin", Says: "a twin is acquitted of what the case is convicted of, and here nothing is expected to be violated"}
	}
	for i, m := range c.Measure {
		if _, ok := metrics[m]; !ok {
			return scenario.UnknownValue(fmt.Sprintf("measure[%d]", i), m, slices.Sorted(maps.Keys(metrics)))
		}
	}
	for d := range c.NotOn {
		if !slices.Contains([]string{scenario.Sim, scenario.Process, scenario.Docker}, d) {
			return scenario.UnknownValue("not_on", d, []string{scenario.Sim, scenario.Process, scenario.Docker})
		}
	}
	if c.Schedules.Quick < 0 || c.Schedules.Full < 0 || c.Real.Attempts < 0 {
		return &scenario.Problem{Field: "schedules", Says: "a number of schedules or attempts is negative"}
	}
	return nil
}

// checkScenarios checks the case's scenario and its twin's.
func (c *Case) checkScenarios() *scenario.Problem {
	if err := c.Scenario.Check(); err != nil {
		p := err.(*scenario.Problem)
		return &scenario.Problem{Field: "scenario." + p.Field, Says: p.Says}
	}
	if c.Twin == nil {
		return nil
	}
	if err := c.Twin.Scenario.Check(); err != nil {
		p := err.(*scenario.Problem)
		return &scenario.Problem{Field: "twin.scenario." + p.Field, Says: p.Says}
	}
	return nil
}

// claimDefaults returns the scenario that the cases of a catalogue start from: small, without
// faults, and with a TTL that real masters in containers can support.
func claimDefaults() scenario.Scenario {
	s := scenario.Defaults()
	s.Name, s.Clients, s.Faults, s.TimeLimit, s.Extend, s.LongHolds = "claim", 3, nil, 10*time.Second, 0, 0
	s.Hold, s.Driver = "500ms..1500ms", scenario.Sim
	return s
}
