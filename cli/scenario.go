package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
)

// scenarioFlags holds the flags that override a scenario file or the defaults. They are generated from the
// declarations in scenario.Fields.
type scenarioFlags struct {
	given  scenario.Scenario
	texts  map[string]*string // values of the flags whose lists have a syntax of their own, by field
	fields []*scenario.Field  // the fields that have a flag
}

// register adds the flags of the fields that a command takes.
func (x *scenarioFlags) register(cmd *cobra.Command, takes func(*scenario.Field) bool) {
	x.given, x.texts = scenario.Defaults(), map[string]*string{}
	for _, f := range scenario.Fields {
		if f.FlagName() == "" || !takes(f) {
			continue
		}
		x.fields = append(x.fields, f)
		if f.Form != scenario.Listed {
			x.texts[f.Name] = cmd.Flags().String(f.FlagName(), f.Text(), f.Usage())
			continue
		}
		addFlag(cmd.Flags(), f.Of(&x.given), f.FlagName(), f.Usage())
	}
	cmd.Flags().Lookup("seed").DefValue = "0" // hidden: the usage states the default
	sectionsOf(cmd, x.fields)
}

// seedFor returns the seed of the flag or of the scenario's file, and otherwise draws a new one: with a constant seed
// each run and each search would find the same violations. A new seed has 32 bits, so that it is short enough to be
// typed.
func seedFor(cmd *cobra.Command, args []string, asked uint64) (uint64, error) {
	if cmd.Flags().Changed("seed") {
		return asked, nil
	}
	if len(args) == 1 {
		if named, err := scenario.Sets(args[0], "seed"); named || err != nil {
			return asked, err
		}
	}
	return uint64(rand.Uint32()), nil
}

// addFlag adds a flag that sets a variable. The variable's current value is the default.
func addFlag(to *pflag.FlagSet, variable any, name, usage string) {
	switch v := variable.(type) {
	case *bool:
		to.BoolVar(v, name, *v, usage)
	case *int:
		to.IntVar(v, name, *v, usage)
	case *int64:
		to.Int64Var(v, name, *v, usage)
	case *uint64:
		to.Uint64Var(v, name, *v, usage)
	case *float64:
		to.Float64Var(v, name, *v, usage)
	case *time.Duration:
		to.DurationVar(v, name, *v, usage)
	case *[]string:
		to.StringSliceVar(v, name, *v, usage)
	default: // a string type; a test adds the flags of all fields
		s := reflect.ValueOf(v).Convert(reflect.TypeFor[*string]()).Interface().(*string)
		to.StringVar(s, name, *s, usage)
	}
}

// scenario returns the scenario that a command runs: the named file, or the defaults, with the given flags
// applied.
func (x *scenarioFlags) scenario(cmd *cobra.Command, args []string) (scenario.Scenario, error) {
	s := scenario.Defaults()
	if len(args) == 1 {
		var err error
		if s, err = scenario.Load(args[0]); err != nil {
			return s, usageError{err}
		}
	}
	for _, f := range x.fields {
		if !cmd.Flags().Changed(f.FlagName()) {
			continue
		}
		if text := x.texts[f.Name]; text != nil {
			list, err := f.Parse(*text)
			if err != nil {
				return s, usageError{fmt.Errorf("--%s: %w", f.FlagName(), err)}
			}
			*f.Of(&x.given).(*[]string) = list
		}
		f.Take(&s, &x.given)
	}
	s.AdoptServers(func(field string) bool {
		if flag := cmd.Flags().Lookup(scenario.FieldNamed(field).FlagName()); flag != nil && flag.Changed {
			return true
		}
		named, err := false, error(nil)
		if len(args) == 1 {
			named, err = scenario.Sets(args[0], field)
		}
		return named || err != nil
	})
	if err := s.Check(); err != nil {
		var p *scenario.Problem
		if errors.As(err, &p) {
			return s, usageError{fmt.Errorf("%s: %s", p.FlagNamed(), p.Says)}
		}
		return s, err
	}
	return s, nil
}

// propertyFlag adds the flag of the field properties to a command that has no other flags of a scenario.
// otherwise describes the default.
func propertyFlag(cmd *cobra.Command, levels *[]string, otherwise string) {
	f := *scenario.FieldNamed("properties")
	f.Absent = otherwise
	addFlag(cmd.Flags(), levels, f.FlagName(), f.Usage())
}

// softwareFlags adds the flags of the fields server and image to a command that has no other flags of a scenario.
func softwareFlags(cmd *cobra.Command, masters *cluster.Software) {
	server, image := scenario.FieldNamed("server"), scenario.FieldNamed("image")
	addFlag(cmd.Flags(), &masters.Server, server.FlagName(), server.Usage())
	addFlag(cmd.Flags(), &masters.Image, image.FlagName(), image.Usage())
}

// listFields lists the fields of a scenario with their flags and defaults.
func listFields(w io.Writer) {
	for _, f := range scenario.Fields {
		flag := "--" + f.FlagName()
		if f.NoFlag != "" {
			flag = "(only in a file: " + f.NoFlag + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, flag, f.Text(), f.Usage())
	}
}

// offeredByFields returns the values that completion offers for the flags of fields, by flag.
func offeredByFields() map[string][]string {
	offers := map[string][]string{}
	for _, f := range scenario.Fields {
		if values := f.Offers(); len(values) > 0 {
			offers[f.FlagName()] = values
		}
	}
	return offers
}

// clientCommandOf parses the value of --client into a command and its arguments.
func clientCommandOf(text string) ([]string, error) {
	words, err := scenario.FieldNamed("client").Parse(text)
	if err == nil && len(words) == 0 {
		err = errors.New("no command is given")
	}
	return words, err
}

// ofRun returns the scenario of a command that runs it once: with a seed, and with programs that may be started.
func (x *scenarioFlags) ofRun(cmd *cobra.Command, args []string, programs *trust) (scenario.Scenario, error) {
	s, err := x.scenario(cmd, args)
	if err != nil {
		return s, err
	}
	if s.Seed, err = seedFor(cmd, args, s.Seed); err != nil {
		return s, err
	}
	return s, programs.askAbout(cmd, args, &s)
}
