package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports"
	"lockpick/search/exhaust"
	"lockpick/workload"
)

func exhaustCommand() *cobra.Command {
	b := exhaust.DefaultBounds()
	e := exhaust.Options{}
	var faults, store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "exhaust",
		Short: "Try every schedule within small bounds, in virtual time",
		Long: `Exhaust simulates every schedule of a few clients on a few masters: every choice of faults, their
targets and ticks, every order of messages, and every length of a hold. The result is either that
mutual exclusion (L2, or with --property L3 that of critical sections) holds for all schedules
within these bounds, or the shortest counterexample: the one with the fewest faults, and of these
the one that is violated first. The lock under test runs unmodified. Time is counted in ticks: a
message takes one.

A call of the lock that does not return or that panics ends the search: it violates returns or
no-crash (AV), and is shown with where it is stuck.

The number of schedules grows steeply with the number of faults and the horizon, so begin small.

Exit codes: 0 it holds for all of them, 1 a counterexample was found or a call failed, 2 the search
was cut short (--time-limit, --max-states, Ctrl-C).`,
		Example: `  lockpick exhaust                                         a restart without persistence
  lockpick exhaust --persistence always                    … with it: holds for all schedules
  lockpick exhaust --persistence always --faults clock     a master's clock jumps
  lockpick exhaust --property L3 --faults client-pause     a client is paused while it holds the lock
  lockpick exhaust --faults late,lost --max-faults 2 --time-limit 10m
  lockpick exhaust --lock redlock-quorum-half --masters 4 --faults none`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.Faults = nil
			if f := strings.TrimSpace(faults); f != "none" && f != "" {
				b.Faults = strings.Split(f, ",")
			}
			e.Bounds = b
			if e.TimeLimit < 0 || e.MaxStates < 0 || e.Workers < 0 {
				return usageError{errors.New("--time-limit, --max-states and --workers must not be negative")}
			}
			if err := b.Check(); err != nil {
				return flagProblem(err)
			}
			return runExhaust(cmd.Context(), e, campaign.Store{Dir: store}, asJSON)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&b.Lock, "lock", b.Lock, "the lock under test: "+strings.Join(workload.CorrectNames(), ", ")+", or one that is wrong on purpose (lockpick list locks)")
	f.StringVar(&b.Property, "property", b.Property, "what must hold: L2 (leases that are valid never overlap) or L3 (nor do the times from a grant to its release, whatever the lease says)")
	f.IntVar(&b.Masters, "masters", b.Masters, "number of masters")
	f.IntVar(&b.Clients, "clients", b.Clients, "number of clients")
	f.StringVar(&b.Persistence, "persistence", b.Persistence, "how masters keep keys: none, rdb, everysec, always")
	f.StringVar(&faults, "faults", strings.Join(b.Faults, ","), "faults to try: none, or any of "+strings.Join(exhaust.Faults, ","))
	f.IntVar(&b.MaxFaults, "max-faults", b.MaxFaults, "how many faults one schedule may have, of all kinds together")
	f.IntVar(&b.Restart, "restart-delay", b.Restart, "ticks from a kill, power cut or shutdown to the restart; 0: at once")
	f.IntVar(&b.For, "for", b.For, "ticks that a pause or a partition lasts")
	f.StringVar(&b.Clock, "clock", b.Clock, "what the fault clock does: +60s, -60s (a jump), x1.5 (its rate)")
	f.IntVar(&b.Late, "late", b.Late, "ticks that a late message takes")
	f.IntVar(&b.TTL, "ttl", b.TTL, "the lock's TTL, in ticks")
	f.IntVar(&b.Timeout, "timeout", b.Timeout, "ticks to wait for one master")
	f.IntVar(&b.Acquires, "acquires", b.Acquires, "how often each client acquires the lock")
	f.IntVar(&b.Stagger, "stagger", b.Stagger, "the last tick at which clients begin; the first client begins at 0")
	f.IntVar(&b.Horizon, "horizon", b.Horizon, "the last tick at which clients try and faults strike")
	f.BoolVar(&b.ClientOrders, "client-orders", b.ClientOrders, "try every order also of what reaches a client at one tick")
	f.DurationVar(&b.Tick, "tick", b.Tick, "length of a tick for the lock (20ms to 120ms, as Redlock's delays)")
	f.DurationVar(&e.TimeLimit, "time-limit", 0, "how long to search, in real time (default: to the end)")
	f.IntVar(&e.MaxStates, "max-states", 5_000_000, "how many states to visit (5 million take about 1.5 GB); 0: no limit")
	f.IntVar(&e.Workers, "workers", 0, "simulations at a time (default: one for each core)")
	storeFlag(cmd, &store)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func runExhaust(ctx context.Context, e exhaust.Options, store campaign.Store, asJSON bool) error {
	show := newProgress()
	e.Live = show.exhausting
	x, err := exhaust.Run(ctx, e)
	show.done()
	if err != nil {
		return err
	}
	// The counterexample, if there is one, is stored as a run.
	var kept *judge.Result
	if x.History != nil {
		dir, r, err := x.Keep(store)
		if err != nil {
			return err
		}
		if err := writeReport(dir, x.History, r); err != nil {
			return err
		}
		kept = r
	}
	if asJSON {
		err = reports.ExhaustedJSON(os.Stdout, x, kept)
	} else {
		err = reports.Exhausted(os.Stdout, x, kept, terminalOptions())
	}
	if err == nil && x.Verdict != checker.Holds {
		err = verdictError(x.Verdict)
	}
	return err
}

// exhausting shows the progress of an exhaustive search. How much remains is unknown: the
// number of open branches grows before it shrinks.
func (p *progress) exhausting(s exhaust.Status) {
	done, of := int64(s.States), int64(s.States+s.Open)
	if s.Limit > 0 {
		done, of = s.Elapsed.Milliseconds(), s.Limit.Milliseconds()
	}
	p.show(fmt.Sprintf("%5.1fs: %d states, %.0f a second, %d choices open; schedules with %d faults, at tick %d",
		s.Elapsed.Seconds(), s.States, float64(s.States)/max(s.Elapsed.Seconds(), time.Millisecond.Seconds()), s.Open, s.Faults, s.Tick), done, of)
}
