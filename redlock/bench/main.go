package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
)

type bench struct {
	rounds  int
	d       time.Duration
	masters []*master
	addrs   []string
}

func main() {
	rounds := flag.Int("rounds", 5, "how often each is measured; the medians are told")
	d := flag.Duration("time", time.Second, "how long one measurement takes")
	only := flag.String("only", "pairs,stopped,contended,processes,waiter", "which tables")
	worker := flag.String("worker", "", "internal: a process of the table of processes")
	against := flag.String("against", "", "compare with another version: this program, built with that (see versions.sh)")
	flag.Parse()
	redis.SetLogger(quiet{})
	if is, err := versionWorker(*worker, flag.Args(), *d); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *worker != "" {
		work(*worker, flag.Args(), *d)
		return
	}
	if err := run(*rounds, *d, *only, *against); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, d time.Duration, only, against string) error {
	b := &bench{rounds: rounds, d: d}
	var err error
	if b.masters, err = startMasters(5); err != nil {
		return err
	}
	defer stopMasters(b.masters)
	for _, m := range b.masters {
		b.addrs = append(b.addrs, m.addr)
	}
	b.versions()
	if against != "" {
		return b.compareVersions(against)
	}
	tables := map[string]func() error{
		"pairs": b.pairs, "stopped": b.stopped, "contended": b.contended, "processes": b.processes, "waiter": b.waiter,
	}
	for _, name := range strings.Split(only, ",") {
		table := tables[name]
		if table == nil {
			return fmt.Errorf("there is no table %q: pairs, stopped, contended, processes, waiter", name)
		}
		if err := table(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) versions() {
	server := "?"
	if out, err := exec.Command("redis-server", "--version").Output(); err == nil {
		if fields := strings.Fields(string(out)); len(fields) > 2 {
			server = strings.TrimPrefix(fields[2], "v=")
		}
	}
	fmt.Printf("5 masters, Redis %s, loopback, no persistence; %s, %d CPUs; %d rounds of %v, in which all take turns; medians, and how far ratios range\n",
		server, runtime.Version(), runtime.GOMAXPROCS(0), b.rounds, b.d)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			for _, c := range []contestant{redsyncPlain, bsm, rueidis1, {module: "github.com/redis/go-redis/v9"}} {
				if dep.Path == c.module {
					fmt.Printf("  %s %s\n", dep.Path, dep.Version)
				}
			}
		}
	}
	fmt.Println()
}

// quiet keeps go-redis from logging errors about the master that was stopped.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func table(title string, heads ...string) *tabwriter.Writer {
	fmt.Println(title)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join(heads, "\t")+"\t")
	return w
}

// measure runs one contestant once.
func (b *bench) measure(c contestant, run func(locker) outcome) (outcome, error) {
	addrs := b.addrs
	if c.masters > 0 {
		addrs = addrs[:c.masters]
	}
	l, err := c.open(addrs)
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", c.name, err)
	}
	defer l.Close()
	return run(l), nil
}

// times is a ratio of two results: in the median round, and in the rounds where it is least
// and greatest.
type times struct{ median, least, most float64 }

// compare returns the ratio of two contestants' results in the same rounds. Other load on the
// machine varies from round to round; it changes the ratio less than each result.
func compare(one, other []outcome, f func(outcome) float64) times {
	var x []float64
	for i := range one {
		x = append(x, f(one[i])/f(other[i]))
	}
	return times{median(x), slices.Min(x), slices.Max(x)}
}

func (t times) String() string {
	if t.least == t.most { // the ratio of a lock to itself, or one round
		return fmt.Sprintf("%.1f×", t.median)
	}
	return fmt.Sprintf("%.1f× (%.1f–%.1f)", t.median, t.least, t.most)
}

func medianOf(outcomes []outcome, f func(outcome) float64) float64 {
	var x []float64
	for _, o := range outcomes {
		x = append(x, f(o))
	}
	return median(x)
}

// pairs measures locks without contention.
func (b *bench) pairs() error {
	w := table("Lock and unlock, each goroutine a key of its own",
		"goroutines", "lock", "pairs/s", "ours is", "CPU/pair", "ours is", "p50", "p99", "allocations", "bytes", "failed", "keys left")
	var floors []float64
	for _, g := range []int{1, 16, 128, 1024} {
		left := map[string]int64{}
		got := map[string][]outcome{}
		for range b.rounds {
			f, err := floor(b.addrs, b.d/4)
			if err != nil {
				return err
			}
			floors = append(floors, f)
			for _, c := range contestants {
				if err := flush(b.masters); err != nil {
					return err
				}
				o, err := b.measure(c, func(l locker) outcome {
					load(l, g, b.d/10, false) // opens the connections and loads the scripts
					return load(l, g, b.d, false)
				})
				if err != nil {
					return err
				}
				got[c.name] = append(got[c.name], o)
				n, err := keys(b.masters)
				if err != nil {
					return err
				}
				left[c.name] += n
			}
		}
		mine := got[ours.name]
		cpu := func(o outcome) float64 { return float64(o.cpu) }
		for _, c := range contestants {
			o := got[c.name]
			failed := 0
			for _, x := range o {
				failed += x.failed
			}
			fmt.Fprintf(w, "%d\t%s\t%.0f\t%v\t%v\t%v\t%v\t%v\t%.0f\t%.0f\t%d\t%d\t\n", g, c.name, medianOf(o, outcome.rate), compare(mine, o, outcome.rate),
				time.Duration(medianOf(o, cpu)).Round(100*time.Nanosecond), compare(o, mine, cpu),
				time.Duration(medianOf(o, func(o outcome) float64 { return float64(o.quantile(0.5)) })).Round(time.Microsecond),
				time.Duration(medianOf(o, func(o outcome) float64 { return float64(o.quantile(0.99)) })).Round(time.Microsecond),
				medianOf(o, func(o outcome) float64 { return o.mallocs }), medianOf(o, func(o outcome) float64 { return o.bytes }), failed, left[c.name])
		}
	}
	w.Flush()
	fmt.Printf("floor: %.0f pairs/s, from %.0f to %.0f in the course of the table: the same commands in ready-made pipelines of 256, without a lock\n\n",
		median(floors), slices.Min(floors), slices.Max(floors))
	return flush(b.masters)
}

// stopped measures locks while one master of five hangs.
func (b *bench) stopped() error {
	w := table("One master of five stopped (SIGSTOP), 16 goroutines, each a key of its own",
		"lock", "healthy pairs/s", "at first", "of healthy", "then", "of healthy", "p50", "p99", "goroutines", "back after")
	for _, c := range []contestant{ours, redsyncPlain, redsyncFast, redsyncRueidis} {
		var healthy, first, hung, p50, p99, goroutines []float64
		var back []time.Duration
		for range b.rounds {
			l, err := c.open(b.addrs)
			if err != nil {
				return err
			}
			load(l, 16, b.d/10, false)
			healthy = append(healthy, load(l, 16, b.d, false).rate())
			m := b.masters[4]
			if err := m.signal(syscall.SIGSTOP); err != nil {
				return err
			}
			first = append(first, load(l, 16, b.d, false).rate()) // the master's timeout has not passed yet
			o := load(l, 16, b.d, false)
			hung, p50, p99 = append(hung, o.rate()), append(p50, float64(o.quantile(0.5))), append(p99, float64(o.quantile(0.99)))
			goroutines = append(goroutines, float64(o.goroutines))
			if err := m.signal(syscall.SIGCONT); err != nil {
				return err
			}
			began := time.Now()
			back = append(back, returns(l, m, began))
			l.Close()
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f%%\t%.0f\t%.0f%%\t%v\t%v\t%.0f\t%v\t\n", c.name, median(healthy), median(first), 100*median(first)/median(healthy), median(hung), 100*median(hung)/median(healthy),
			time.Duration(median(p50)).Round(time.Microsecond), time.Duration(median(p99)).Round(time.Microsecond), median(goroutines), median(back).Round(time.Millisecond))
	}
	w.Flush()
	fmt.Println()
	return flush(b.masters)
}

// contended measures locks on one key.
func (b *bench) contended() error {
	w := table("All goroutines of one process want one key", "goroutines", "lock", "pairs/s", "hand-offs/s", "ours is", "most/least", "commands/s per master")
	for _, g := range []int{16, 64} {
		sent := map[string][]float64{}
		got := map[string][]outcome{}
		for range b.rounds {
			for _, c := range contestants {
				if err := flush(b.masters); err != nil {
					return err
				}
				before, err := b.masters[0].info("stats", "total_commands_processed")
				if err != nil {
					return err
				}
				o, err := b.measure(c, func(l locker) outcome { return load(l, g, 2*b.d, true) })
				if err != nil {
					return err
				}
				after, err := b.masters[0].info("stats", "total_commands_processed")
				if err != nil {
					return err
				}
				got[c.name] = append(got[c.name], o)
				sent[c.name] = append(sent[c.name], float64(after-before)/o.took.Seconds())
			}
		}
		for _, c := range contestants {
			o := got[c.name]
			fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%v\t%s\t%.0f\t\n", g, c.name, medianOf(o, outcome.rate), medianOf(o, outcome.handOffRate),
				compare(got[ours.name], o, outcome.handOffRate), spread(o), median(sent[c.name]))
		}
	}
	w.Flush()
	fmt.Println()
	return flush(b.masters)
}
