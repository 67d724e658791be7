package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/reports"
	"lockpick/search/exhaust"
)

// exhaustive holds the flags of lockpick search --exhaustive. Flags that the search has anyway give the bounds of the same name.
type exhaustive struct {
	on        bool
	bounds    exhaust.Bounds
	maxStates int
}

// exhaustiveSection is the heading of the flags that only --exhaustive has.
const exhaustiveSection = "With --exhaustive"

// bothWays are the flags of a search that are not bounds, and mean the same with --exhaustive.
var bothWays = []string{"property", "faults", "time-limit", "workers", "store", "json", "exhaustive", helpAll}

// The bounds that a flag of the search gives, too, by flag; those in ticks are given as durations.
func (x *exhaustive) texts() map[string]*string {
	return map[string]*string{"lock": &x.bounds.Lock, "persistence": &x.bounds.Persistence, "clock": &x.bounds.Clock}
}

func (x *exhaustive) numbers() map[string]*int {
	return map[string]*int{"masters": &x.bounds.Masters, "clients": &x.bounds.Clients}
}

func (x *exhaustive) ticks() map[string]*int {
	b := &x.bounds
	return map[string]*int{"for": &b.For, "late": &b.Late, "stagger": &b.Stagger, "horizon": &b.Horizon, "ttl": &b.TTL, "timeout": &b.Timeout, "restart-delay": &b.Restart}
}

// takes reports whether --exhaustive uses a flag.
func (x *exhaustive) takes(flag string) bool {
	return slices.Contains(bothWays, flag) || x.texts()[flag] != nil || x.numbers()[flag] != nil || x.ticks()[flag] != nil
}

// flags adds the flags to a command that has those of a scenario.
func (x *exhaustive) flags(cmd *cobra.Command) {
	x.bounds = exhaust.DefaultBounds()
	b, f := &x.bounds, cmd.Flags()
	own := func(name string) { inSection(cmd, name, exhaustiveSection) }
	lasting := func(name string, ticks int, usage string) {
		f.Duration(name, time.Duration(ticks)*b.Tick, usage)
		own(name)
	}
	f.IntVar(&b.MaxFaults, "max-faults", b.MaxFaults, "how many faults one schedule may have, of all kinds together")
	own("max-faults")
	lasting("for", b.For, "how long a pause or a partition lasts")
	lasting("late", b.Late, "how long a late message takes; others take one tick")
	f.IntVar(&b.Acquires, "acquires", b.Acquires, "how often each client acquires the lock")
	own("acquires")
	lasting("stagger", b.Stagger, "when the last client begins, at the latest; the first begins at once")
	lasting("horizon", b.Horizon, "until when clients try and faults strike")
	f.BoolVar(&b.ClientOrders, "client-orders", b.ClientOrders, "try every order also of what reaches a client at one tick")
	own("client-orders")
	f.DurationVar(&b.Tick, "tick", b.Tick, "length of a tick (20ms to 120ms, as Redlock's delays); all times are whole numbers of ticks")
	own("tick")
	f.IntVar(&x.maxStates, "max-states", 5_000_000, "how many states to visit (5 million take about 1.5 GB); 0: no limit")
	own("max-states")
}

// check returns an error if flags do not fit: each way of searching has its own.
func (x *exhaustive) check(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		own := slices.Contains(f.Annotations[sectioned], exhaustiveSection)
		switch {
		case err != nil:
		case own && !x.on:
			err = usageError{fmt.Errorf("--%s is about all schedules: add --exhaustive", f.Name)}
		case x.on && !own && !x.takes(f.Name):
			err = usageError{fmt.Errorf("--%s is about drawn schedules: --exhaustive has none", f.Name)}
		}
	})
	return err
}

// search tries all schedules within the bounds that the flags give.
func (x *exhaustive) search(cmd *cobra.Command, e exhaust.Options, store string, asJSON bool) error {
	b, f := &x.bounds, cmd.Flags()
	for name, to := range x.texts() {
		if f.Changed(name) {
			*to, _ = f.GetString(name) // fails only if there is no such flag
		}
	}
	for name, to := range x.numbers() {
		if f.Changed(name) {
			*to, _ = f.GetInt(name)
		}
	}
	if levels, _ := f.GetStringSlice("property"); f.Changed("property") {
		b.Property = strings.Join(levels, ",")
	}
	if text, _ := f.GetString("faults"); f.Changed("faults") {
		faults, err := scenario.FieldNamed("faults").Parse(text)
		if err != nil {
			return usageError{fmt.Errorf("--faults: %w", err)}
		}
		b.Faults = faults
	}
	for name, to := range x.ticks() {
		if !f.Changed(name) {
			continue
		}
		lasts, _ := f.GetDuration(name)
		var err error
		if *to, err = b.Ticks(lasts); err != nil {
			return usageError{fmt.Errorf("--%s: %w", name, err)}
		}
	}
	if e.TimeLimit < 0 || x.maxStates < 0 || e.Workers < 0 {
		return usageError{errors.New("--time-limit, --max-states and --workers must not be negative")}
	}
	if err := b.Check(); err != nil {
		return flagProblem(err)
	}
	e.Bounds, e.MaxStates = *b, x.maxStates
	return runExhaust(cmd.Context(), e, campaign.Store{Dir: store}, asJSON)
}

func runExhaust(ctx context.Context, e exhaust.Options, store campaign.Store, asJSON bool) error {
	show := newProgress()
	e.Live = show.steps
	x, err := exhaust.Run(ctx, e)
	show.done()
	if err != nil {
		return err
	}
	// The counterexample, if there is one, is stored as a run.
	var stored *judge.Result
	if x.History != nil {
		dir, r, err := x.Keep(store)
		if err != nil {
			return err
		}
		if err := writeReport(dir, x.History, r); err != nil {
			return err
		}
		stored = r
	}
	if asJSON {
		err = reports.ExhaustedJSON(os.Stdout, x, stored)
	} else {
		err = reports.Exhausted(os.Stdout, x, stored, terminalOptions())
	}
	if err == nil && x.Verdict != checker.Holds {
		err = verdictError(x.Verdict)
	}
	return err
}
