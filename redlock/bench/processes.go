package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// returns waits until a master that was stopped votes again, and returns how long that took.
// The master votes again if it stores the key of a lock that was just acquired.
func returns(l locker, m *master, began time.Time) time.Duration {
	for time.Since(began) < 10*time.Second {
		unlock, err := l.Lock(context.Background(), "back")
		if err != nil {
			continue
		}
		time.Sleep(time.Millisecond)
		there := m.client.Exists(context.Background(), "back").Val() == 1
		took := time.Since(began)
		_ = unlock()
		if there {
			return took
		}
	}
	return 10 * time.Second
}

// spread divides the pairs of the goroutine that got the lock most often by those of the one
// that got it least often.
func spread(all []outcome) string {
	var x []float64
	for _, o := range all {
		least, most := slices.Min(o.each), slices.Max(o.each)
		if least == 0 {
			return "somebody never"
		}
		x = append(x, float64(most)/float64(least))
	}
	return fmt.Sprintf("%.2f", median(x))
}

// work runs one process of the table of processes: 4 goroutines lock one key.
func work(name string, addrs []string, d time.Duration) {
	for _, c := range competitors() {
		if c.name != name {
			continue
		}
		l, err := c.open(addrs)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		o := load(l, 4, d, true)
		l.Close()
		fmt.Println(o.pairs, int64(o.quantile(0.5)), int64(o.quantile(1)))
	}
}

func competitors() []contestant { return []contestant{ours, wakeups, redsyncPlain} }

// processes measures four processes with four goroutines each, all on one key.
func (b *bench) processes() error {
	w := table("Four processes of four goroutines want one key", "lock", "hand-offs/s", "least process", "most process", "p50", "longest wait")
	for _, c := range competitors() {
		var rate, least, most, p50, longest []float64
		for range b.rounds {
			if err := flush(b.masters); err != nil {
				return err
			}
			d := 4 * b.d
			var commands []*exec.Cmd
			var outs []*strings.Builder
			for range 4 {
				args := append([]string{"-worker", c.name, "-time", d.String()}, b.addrs...)
				cmd := exec.Command(os.Args[0], args...)
				out := &strings.Builder{}
				cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, os.Stderr, dieWithParent()
				if err := cmd.Start(); err != nil {
					return err
				}
				commands, outs = append(commands, cmd), append(outs, out)
			}
			var pairs, medians, longests []float64
			for i, cmd := range commands {
				if err := cmd.Wait(); err != nil {
					return err
				}
				var n, p, q float64
				if _, err := fmt.Sscan(outs[i].String(), &n, &p, &q); err != nil {
					return err
				}
				pairs, medians, longests = append(pairs, n), append(medians, p), append(longests, q)
			}
			sum := 0.0
			for _, n := range pairs {
				sum += n
			}
			rate, least, most = append(rate, sum/d.Seconds()), append(least, slices.Min(pairs)), append(most, slices.Max(pairs))
			p50, longest = append(p50, median(medians)), append(longest, slices.Max(longests))
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%v\t%v\t\n", c.name, median(rate), median(least), median(most),
			time.Duration(median(p50)).Round(10*time.Microsecond), time.Duration(median(longest)).Round(time.Millisecond))
	}
	w.Flush()
	fmt.Println()
	return flush(b.masters)
}

// waiter measures the commands of a waiter per master while the lock is held for a long time.
func (b *bench) waiter() error {
	w := table("One process waits for a lock that is held", "lock", "commands/s per master")
	for _, c := range []contestant{ours, wakeups, redsyncPlain, bsm, rueidis1} {
		if err := flush(b.masters); err != nil {
			return err
		}
		for _, m := range b.masters {
			for _, key := range []string{"k", "rueidislock:0:k"} {
				if err := m.client.Set(context.Background(), key, "somebody", time.Minute).Err(); err != nil {
					return err
				}
			}
		}
		addrs := b.addrs
		if c.masters > 0 {
			addrs = addrs[:c.masters]
		}
		l, err := c.open(addrs)
		if err != nil {
			return err
		}
		load(l, 1, 100*time.Millisecond, false) // exclude the commands that open a connection
		before, err := b.masters[0].info("stats", "total_commands_processed")
		if err != nil {
			return err
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), max(5*b.d, 5*time.Second))
		_, _ = l.Lock(ctx, "k")
		cancel()
		after, err := b.masters[0].info("stats", "total_commands_processed")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%.1f\t\n", c.name, float64(after-before)/time.Since(began).Seconds())
		l.Close()
	}
	w.Flush()
	fmt.Println()
	return flush(b.masters)
}
