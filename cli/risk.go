package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/wholefile"
	"lockpick/reports/term"
	"lockpick/risk"
)

// riskFlags holds the flags of lockpick risk.
type riskFlags struct {
	risk.Options
	values   map[string]*setupFlag
	noWhatIf bool
	asJSON   bool
	html     string
	store    string
}

func riskCommand() *cobra.Command {
	flags := riskFlags{values: map[string]*setupFlag{}}
	cmd := &cobra.Command{
		Use:   "risk [FILE]",
		Short: "Estimate how often a lock fails in a year of production",
		Long: `Risk estimates how many times in a year two clients hold a lock at once (L2), and how many times a
late write replaces a newer one (L4; with fencing L5). FILE, or the flags, say how the lock is
deployed, how it is used, and how often which fault happens; what is not given is a default, and
the page says where each default comes from. Give what you know.

It simulates each kind of fault at random moments of an acquisition, and pairs of them, and
multiplies by how often they meet; docs/risk.md has the method and what it leaves out. A rate may
be a range (crashes 0.02..0.2): the interval then contains what is not known about it. Times may
be a duration, a range, quantiles (p50=50ms,p99=1s,max=5s) or a histogram (50ms:0.9,1s:0.1).

The page (index.html), the figures (risk.json), the setup and a schedule that violates for each
cause are kept in the store.

Exit codes: 0 done, 2 interrupted, 64 bad usage or input, 70 an error of the harness.`,
		Example: `  lockpick risk                                              the defaults
  lockpick risk --masters 1 --replicas 1 --failovers 0.1      one master, a replica and Sentinel
  lockpick risk --persistence always --restart-delay 11s
  lockpick risk --hold p50=200ms,p99=8s,max=30s --ttl 10s     sections that outlast their leases
  lockpick risk risk.yaml --samples 10000 --html risk.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRisk(cmd, args, flags) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	for _, field := range risk.Fields {
		name := strings.ReplaceAll(field.Name, "_", "-")
		v := &setupFlag{field: field.Name, text: field.Default}
		flags.values[field.Name] = v
		f.Var(v, name, strings.ReplaceAll(field.Means, "`", "")) // pflag takes a quoted word for the flag's type
		if field.Default == "false" {
			f.Lookup(name).NoOptDefVal = "true"
		}
	}
	f.IntVar(&flags.Samples, "samples", 1000, "simulations of each kind of fault; pairs and other setups get a share of that")
	f.BoolVar(&flags.noWhatIf, "no-what-if", false, "do not estimate other setups for comparison")
	f.Uint64Var(&flags.Seed, "seed", 0, "seed of all random choices (default: a fresh one, which is printed)")
	outputFlag(cmd, &flags.html, "html", "", "write the page to this file too")
	storeFlag(cmd, &flags.store)
	jsonFlag(cmd, &flags.asJSON)
	return cmd
}

// setupFlag is the value of a flag that gives a field of a risk.Setup.
type setupFlag struct{ field, text string }

func (v *setupFlag) String() string { return v.text }

func (v *setupFlag) Set(text string) error {
	v.text = text
	return new(risk.Setup).Set(v.field, text)
}

// Type returns the name that other flags have for the type of the field: a number, a duration. What may also be a range is
// a string.
func (v *setupFlag) Type() string {
	setup := reflect.TypeFor[risk.Setup]()
	for i := range setup.NumField() {
		f := setup.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name == v.field && f.Type.Kind() != reflect.Struct {
			return strings.ToLower(f.Type.Name())
		}
	}
	return "string"
}

func runRisk(cmd *cobra.Command, args []string, flags riskFlags) error {
	flags.Setup = risk.Defaults()
	var err error
	if len(args) > 0 {
		if flags.Setup, err = risk.Load(args[0]); err != nil {
			return usageError{err}
		}
	}
	for _, field := range risk.Fields {
		if name := strings.ReplaceAll(field.Name, "_", "-"); cmd.Flags().Changed(name) {
			if err := flags.Setup.Set(field.Name, flags.values[field.Name].text); err != nil {
				return flagProblem(err)
			}
		}
	}
	if flags.Seed, err = seedFor(cmd, nil, flags.Seed); err != nil {
		return err
	}
	flags.WhatIf = !flags.noWhatIf
	collectLessOften()
	show := newProgress()
	flags.Live = show.steps
	r, err := risk.Estimate(cmd.Context(), flags.Options)
	show.done()
	if err != nil {
		return flagProblem(err)
	}
	page, err := keepRisk(r, flags)
	if err != nil {
		return err
	}
	if flags.asJSON {
		err = term.WriteJSON(cmd.OutOrStdout(), struct {
			*risk.Result
			Page string `json:"page"`
		}{r, page})
	} else {
		err = risk.Terminal(cmd.OutOrStdout(), r, terminalOptions())
		fmt.Fprintf(cmd.OutOrStdout(), "The page: %s\n", page)
	}
	if err == nil && r.Stopped {
		return verdictError(checker.Unknown)
	}
	return err
}

// flagProblem turns a scenario.Problem into a usage error that names the flag. It returns other errors
// unchanged.
func flagProblem(err error) error {
	var problem *scenario.Problem
	if errors.As(err, &problem) {
		return usageError{fmt.Errorf("--%s: %s", strings.ReplaceAll(problem.Field, "_", "-"), problem.Says)}
	}
	return err
}

// keepRisk writes the estimate into a new folder of the store, and returns the path of the page.
func keepRisk(r *risk.Result, flags riskFlags) (page string, err error) {
	folder, err := campaign.Store{Dir: flags.store}.CreateFolder("risk", time.Now())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(flags.store, folder)
	setup, err := r.Setup.YAML()
	if err != nil {
		return "", err
	}
	figures, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	files := map[string][]byte{"setup.yaml": setup, risk.ResultFile: figures}
	for _, c := range r.Causes {
		if c.Example != "" {
			files[strings.NewReplacer(" ", "-", ",", "", ":", "", "'", "").Replace(c.Name)+".yaml"] = []byte(c.Example)
		}
	}
	for name, text := range files {
		if err := wholefile.Replace(filepath.Join(dir, name), 0o644, wholefile.Content(text)); err != nil {
			return "", err
		}
	}
	page = filepath.Join(dir, "index.html")
	writePage := func(w io.Writer, _ string) error { return risk.WritePage(w, r) }
	if err := writeStored(page, writePage); err != nil || flags.html == "" {
		return page, err
	}
	return page, writeOutput(flags.html, writePage)
}
