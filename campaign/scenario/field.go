package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/shlex"

	"lockpick/checker"
	"lockpick/workload"
)

// Field declares a field of a Scenario.
type Field struct {
	Name     string // in YAML; a nested field has a dot, as in network.loss
	Flag     string // without leading dashes; "": Name with dashes instead of underscores
	NoFlag   string // the reason if it has no flag
	RunOnly  bool   // only lockpick run has the flag: explore draws the value, cannot use it, or uses the name for something else
	Form     Form   // syntax of a list in the flag
	Section  string // heading of the flag in lockpick run --help-all
	Everyday bool   // lockpick run --help shows the flag

	Default any    // nil: the zero value
	Absent  string // describes the meaning of the zero value

	Values      func() []string // the allowed values; nil: any value is
	Probability bool            // the value must be from 0 to 1
	within      limits          // of a number or a duration; zero: none
	check       func(*Scenario) *Problem
	listed      func() string // the values in the help, if it does not list all

	Drivers     []string // the drivers that use it; empty: all
	OutsideSeed bool     // the simulated history of a seed does not depend on it
	replaces    string   // name of a field that is cleared when this one is given

	Help string // one sentence, for the command line and the documents
	More string // additional text of the documents, in Markdown
}

// Form is the syntax of a list in the value of a flag.
type Form int

// The syntaxes of lists.
const (
	Listed      Form = iota // a,b,c
	NoneForm                // a,b,c or none
	CommandForm             // words, quoted as in a shell
)

// none is the empty list in NoneForm.
const none = "none"

// inNetwork is the NoFlag of the fields of a network.
const inNetwork = "it is part of network"

// limits holds the least and the greatest allowed value, both of type int or Duration.
type limits struct{ from, to any }

// texts returns a function for Field.Values that lists values as strings.
func texts[T ~string](values []T) func() []string {
	return func() []string {
		out := make([]string, len(values))
		for i, v := range values {
			out[i] = string(v)
		}
		return out
	}
}

// FieldNamed returns the declaration of a field, or nil.
func FieldNamed(name string) *Field {
	if i := slices.IndexFunc(Fields, func(f *Field) bool { return f.Name == name }); i >= 0 {
		return Fields[i]
	}
	return nil
}

// FlagName returns the name of the field's flag without dashes, or "" if it has none.
func (f *Field) FlagName() string {
	switch {
	case f.NoFlag != "":
		return ""
	case f.Flag != "":
		return f.Flag
	}
	return strings.ReplaceAll(f.Name, "_", "-")
}

// FlagNamed returns the flag, with dashes, for the field of a Problem: schedule[1].fault gives --schedule.
func (p *Problem) FlagNamed() string {
	name, _, _ := strings.Cut(p.Field, "[")
	if f := FieldNamed(name); f != nil && f.FlagName() != "" {
		return "--" + f.FlagName()
	}
	return "--" + strings.ReplaceAll(name, "_", "-")
}

// Of returns a pointer to the field in a scenario.
func (f *Field) Of(s *Scenario) any { return f.in(s).Addr().Interface() }

// in returns the field in a scenario.
func (f *Field) in(s *Scenario) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for _, name := range strings.Split(f.Name, ".") {
		v = v.Field(positions[v.Type()][name])
	}
	return v
}

// positions maps the YAML names of fields to their indices in the structs.
var positions = map[reflect.Type]map[string]int{
	reflect.TypeFor[Scenario](): positionsIn(reflect.TypeFor[Scenario]()),
	reflect.TypeFor[Network]():  positionsIn(reflect.TypeFor[Network]()),
}

func positionsIn(t reflect.Type) map[string]int {
	at := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		at[name] = i
	}
	return at
}

// Take copies the field from another scenario. It also copies the field that this one replaces, which is
// usually zero there: client_clock and client_rate replace each other, and faults replaces schedule.
func (f *Field) Take(s, from *Scenario) {
	f.in(s).Set(f.in(from))
	if f.replaces != "" {
		other := FieldNamed(f.replaces)
		other.in(s).Set(other.in(from))
	}
}

// Text returns the default as the value of a flag, or "".
func (f *Field) Text() string {
	if list, ok := f.Default.([]string); ok {
		return strings.Join(list, ",")
	}
	if f.Default == nil {
		return ""
	}
	return fmt.Sprint(f.Default)
}

// Parse parses a list in the syntax of its flag.
func (f *Field) Parse(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || f.Form == NoneForm && text == none:
		return nil, nil
	case f.Form == CommandForm:
		words, err := shlex.Split(text)
		if err == nil && len(words) == 0 {
			err = fmt.Errorf("no command is given")
		}
		return words, err
	}
	return strings.Split(text, ","), nil
}

// Offers lists the values that completion offers.
func (f *Field) Offers() []string {
	if f.Values == nil {
		return nil
	}
	if f.Form == NoneForm {
		return append([]string{none}, f.Values()...)
	}
	return f.Values()
}

// Usage returns the help of the field's flag.
func (f *Field) Usage() string {
	out := f.Help
	switch {
	case f.listed != nil:
		out += ": " + f.listed()
	case f.Values != nil && f.Form == NoneForm:
		out += ": none, or any of " + strings.Join(f.Values(), ", ")
	case f.Values != nil && f.in(&Scenario{}).Kind() == reflect.Slice:
		out += ": " + strings.Join(f.Values(), ", ")
	case f.Values != nil:
		out += ": " + strings.Join(f.Values(), ", ")
	}
	if len(f.Drivers) > 0 {
		out += "; only with --driver " + strings.Join(f.Drivers, " or ")
	}
	if f.Absent != "" {
		out += " (default: " + f.Absent + ")"
	}
	return out
}

// Otherwise describes, in Markdown, the default of the field.
func (f *Field) Otherwise() string {
	switch {
	case f.Absent != "":
		return f.Absent
	case f.in(&Scenario{}).Kind() == reflect.Bool:
		return "`false`"
	case f.in(&Scenario{}).Kind() == reflect.Slice && f.Default != nil:
		return "`[" + strings.ReplaceAll(f.Text(), ",", ", ") + "]`"
	case f.Default != nil:
		return "`" + f.Text() + "`"
	}
	return ""
}

// Meaning returns the description of the field for the documents, in Markdown.
func (f *Field) Meaning() string {
	out := f.Help
	if f.Values != nil && f.listed == nil && f.Form != NoneForm {
		out += ": `" + strings.Join(f.Values(), "`, `") + "`"
	}
	switch from := f.within.from.(type) {
	case int:
		out += fmt.Sprintf(", %d to %d", from, f.within.to)
	case Duration:
		if from > 0 {
			out += fmt.Sprintf(", at least `%v`", from)
		}
	}
	if len(f.Drivers) > 0 {
		out += "; only with `driver: " + strings.Join(f.Drivers, "` or `") + "`"
	}
	return strings.TrimSpace(out + ". " + f.More)
}

// levelsListed lists the levels for the help of --property.
func levelsListed() string { return strings.Join(checker.Levels(), ", ") }

// defaults builds the scenario with the declared defaults, once.
var defaults = sync.OnceValue(func() Scenario {
	var s Scenario
	for _, f := range Fields {
		if f.Default != nil {
			v := f.in(&s)
			v.Set(reflect.ValueOf(f.Default).Convert(v.Type()))
		}
	}
	return s
})

// Defaults returns the scenario that `lockpick run` runs without flags.
func Defaults() Scenario {
	s := defaults()
	s.Faults = slices.Clone(s.Faults)
	return s
}

// Check returns the first problem of the scenario, as a *Problem, or nil.
func (s *Scenario) Check() error {
	for _, f := range Fields {
		if p := f.problem(s); p != nil {
			return p
		}
	}
	return nil
}

// problem returns the first problem with the field in a scenario, or nil.
func (f *Field) problem(s *Scenario) *Problem {
	v := f.in(s)
	if f.check != nil {
		if p := f.check(s); p != nil {
			return p
		}
	}
	if f.Values != nil {
		if p := f.unknown(v); p != nil {
			return p
		}
	}
	switch from := f.within.from.(type) {
	case int:
		if n := v.Int(); n < int64(from) || n > int64(f.within.to.(int)) {
			return &Problem{f.Name, fmt.Sprintf("%d is out of range: %d to %d", n, from, f.within.to)}
		}
	case Duration:
		if d := Duration(v.Int()); d < from || d > f.within.to.(Duration) {
			return &Problem{f.Name, fmt.Sprintf("%v is out of range: %v to %v", d, from, f.within.to)}
		}
	}
	if f.Probability {
		if p := v.Float(); !(p >= 0 && p <= 1) { // the negation also rejects NaN
			return &Problem{f.Name, fmt.Sprintf("%v is not a probability: 0 to 1", p)}
		}
	}
	return nil
}

// unknown returns the problem of a text, or of a text in a list, that is not one of Values.
func (f *Field) unknown(v reflect.Value) *Problem {
	allowed := f.Values()
	list, isList := v.Interface().([]string)
	if !isList {
		if text := v.String(); !slices.Contains(allowed, text) && (text != "" || f.Default != nil) {
			return UnknownValue(f.Name, text, allowed)
		}
		return nil
	}
	for i, text := range list {
		if !slices.Contains(allowed, text) {
			if f.Form == NoneForm {
				allowed = append(allowed, none)
			}
			return UnknownValue(fmt.Sprintf("%s[%d]", f.Name, i), text, allowed)
		}
	}
	return nil
}

// correctLocks lists the locks for the help of --lock.
func correctLocks() string {
	return strings.Join(workload.CorrectNames(), ", ") + ", or one that is wrong on purpose (lockpick list locks)"
}
