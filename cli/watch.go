package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockpick/checker"
	"lockpick/internal/loopback"
	"lockpick/watch"
)

// watchFlags holds the flags of lockpick watch.
type watchFlags struct {
	listen, to []string
	monitor    []string
	keys       string
	hashKeys   bool
	exposed    bool
	noAsk      bool
	limit      time.Duration
	json       bool
	history    string
	figures    string
	scenario   string
	risk       string
	redis      redisFlags
}

func watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Read what clients say to a Redis, and find what is wrong with their locks",
		Long: `Watch is a transparent proxy for a development or staging Redis. It passes every byte on
unchanged, reads copies, recognises the commands that behave as locks, whatever their keys are
called, and reports what is wrong with them: each finding with the commands as evidence, the
claim that shows the harm, and a command that re-enacts it.

Point the clients at --listen. Ctrl-C, or --time-limit, ends the watch and prints the report.
Tokens are kept as salted hashes only, and other values and passwords not at all.

--monitor reads MONITOR of a Redis instead, where no proxy can be put. MONITOR shows no replies,
so they are inferred, and it costs the Redis much of its throughput: not for production.

Exit codes: 0 no finding is an error, 1 at least one is, 2 no lock was seen, 64 bad usage,
70 an error of the harness.`,
		Example: `  lockpick watch --listen 127.0.0.1:6380 --to 127.0.0.1:6379
  lockpick watch --listen 127.0.0.1:6380 --to rediss://redis.staging:6380 --time-limit 10m
  lockpick watch --listen 127.0.0.1:7001 --to 10.0.0.1:6379 \
    --listen 127.0.0.1:7002 --to 10.0.0.2:6379 --listen 127.0.0.1:7003 --to 10.0.0.3:6379
  lockpick watch --listen 127.0.0.1:6380 --to 127.0.0.1:6379 --only-keys 'lock:*' --hash-keys --json
  lockpick watch --listen 127.0.0.1:6380 --to 127.0.0.1:6379 --history seen.jsonl
  lockpick watch --monitor redis://127.0.0.1:6379 --time-limit 30s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&f.listen, "listen", nil, "address for the clients of one Redis, as in 127.0.0.1:6380 (again for each; the same number as --to)")
	fs.StringArrayVar(&f.to, "to", nil, "that Redis: host:port, redis://… or rediss://… (TLS); a user and a password in it serve only to ask for its role")
	fs.StringArrayVar(&f.monitor, "monitor", nil, "read MONITOR of this Redis instead of a proxy, redis://… (again for each)")
	fs.StringVar(&f.keys, "only-keys", "", "only keys that match this pattern, such as 'lock:*', and all of them")
	fs.BoolVar(&f.hashKeys, "hash-keys", false, "replace keys by salted hashes in everything that is printed or written")
	fs.BoolVar(&f.exposed, "allow-remote", false, "allow --listen on addresses that other machines reach: they get to your Redis without TLS")
	fs.BoolVar(&f.noAsk, "no-ask", false, "do not ask each Redis for its role (one INFO replication on a connection of its own)")
	fs.DurationVar(&f.limit, "time-limit", 0, "end after this long (default: at Ctrl-C)")
	fs.BoolVar(&f.json, "json", false, "print one JSON object on stdout instead of the report")
	outputFlag(cmd, &f.history, "history", "", "write the leases as a history to this file, for lockpick check")
	outputFlag(cmd, &f.figures, "figures", "", "write the workload's figures to this YAML file")
	outputFlag(cmd, &f.scenario, "scenario", "", "write a scenario with this workload to this YAML file, for lockpick run")
	outputFlag(cmd, &f.risk, "risk", "", "write a setup with this workload to this YAML file, for lockpick risk")
	f.redis.add(cmd)
	return cmd
}

func (f *watchFlags) check() error {
	switch {
	case len(f.monitor) > 0 && len(f.listen)+len(f.to) > 0:
		return errors.New("--monitor reads a Redis without a proxy: leave out --listen and --to")
	case len(f.monitor) == 0 && len(f.to) == 0:
		return errors.New("watch what? Give --listen 127.0.0.1:6380 --to 127.0.0.1:6379, or --monitor redis://127.0.0.1:6379")
	case len(f.listen) != len(f.to):
		return fmt.Errorf("--listen and --to come in pairs: there are %d and %d", len(f.listen), len(f.to))
	case f.limit < 0:
		return errors.New("--time-limit must be positive")
	}
	for _, a := range f.listen {
		local, err := loopback.Only(a)
		if err != nil {
			return fmt.Errorf("--listen %w", err)
		}
		if !local && !f.exposed {
			return fmt.Errorf("--listen %s may be reached by other machines, which would get to your Redis through it: use 127.0.0.1, or add --allow-remote", a)
		}
		if !local {
			fmt.Fprintf(os.Stderr, "warning: %s may be reached by other machines, without TLS\n", a)
		}
	}
	return nil
}

func (f *watchFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	var servers []*redis.Options
	for _, text := range append(f.to, f.monitor...) {
		o, err := f.redis.options(text)
		if err != nil {
			return usageError{err}
		}
		servers = append(servers, o)
	}
	lint, err := watch.NewLint(watch.Options{Masters: len(servers), Keys: f.keys, HashKeys: f.hashKeys})
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	tap := watch.NewTap(lint)
	notes := f.ask(ctx, lint, servers)
	var open []io.Closer
	end := func() {
		for _, c := range open {
			c.Close()
		}
		tap.Close()
	}
	for i, o := range servers {
		if len(f.monitor) > 0 {
			m, err := watch.Monitor(ctx, i, o, tap)
			if err != nil {
				end()
				return err
			}
			open = append(open, m)
			fmt.Fprintf(os.Stderr, "m%d: reading MONITOR of %s. MONITOR copies every command to this connection and can halve the throughput of a busy Redis.\n", i+1, o.Addr)
			continue
		}
		p, err := watch.NewProxy(i, watch.Target{Listen: f.listen[i], To: o.Addr, TLS: o.TLSConfig}, tap)
		if err != nil {
			end()
			return usageError{err}
		}
		open = append(open, p)
		fmt.Fprintf(os.Stderr, "m%d: clients of %s connect to %s\n", i+1, o.Addr, p.Addr())
	}
	fmt.Fprintln(os.Stderr, "Ctrl-C ends the watch and prints the report.")
	f.wait(ctx, tap)
	end()
	return f.finish(cmd.OutOrStdout(), lint, tap, notes)
}

// ask asks each Redis for its role, and returns a note on each that does not answer.
func (f *watchFlags) ask(ctx context.Context, lint *watch.Lint, servers []*redis.Options) (notes []string) {
	if f.noAsk {
		return []string{"The Redis were not asked whether they have replicas (--no-ask)."}
	}
	for i, o := range servers {
		one, cancel := context.WithTimeout(ctx, 3*time.Second)
		role, err := watch.AskRole(one, o)
		cancel()
		if err != nil {
			notes = append(notes, fmt.Sprintf("m%d: it is not known whether it has replicas: %v", i+1, err))
			continue
		}
		lint.SetRole(i, role)
	}
	return notes
}

// wait shows progress, if stderr is a terminal, until the watch ends.
func (f *watchFlags) wait(ctx context.Context, tap *watch.Tap) {
	var over <-chan time.Time
	if f.limit > 0 {
		over = time.After(f.limit)
	}
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		select {
		case <-ctx.Done():
		case <-over:
		}
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	defer fmt.Fprint(os.Stderr, "\r\x1b[K")
	for {
		select {
		case <-ctx.Done():
			return
		case <-over:
			return
		case <-tick.C:
			missed, _, open, _ := tap.Status()
			var r watch.Progress
			tap.Read(func(l *watch.Lint) { r = l.Progress() })
			line := fmt.Sprintf("%v: %d connections open, %d commands, %d grants, %d refusals, %d rules broken", r.Elapsed.Round(time.Second), open, r.Commands, r.Grants, r.Refused, r.Broken)
			if missed.Bytes > 0 {
				line += fmt.Sprintf(", missed %d kB", missed.Bytes>>10)
			}
			if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && len(line) >= width && width > 1 {
				line = line[:width-1]
			}
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s", line)
		}
	}
}

// finish writes the files and prints the report.
func (f *watchFlags) finish(out io.Writer, lint *watch.Lint, tap *watch.Tap, notes []string) error {
	missed, conns, _, problems := tap.Status()
	r := lint.Result(time.Now(), missed)
	r.Connections = conns
	r.Notes = append(append(r.Notes, problems...), notes...)
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	for _, file := range []struct {
		what, path  string
		needsLeases bool
		write       func(io.Writer) error
	}{
		{"history", f.history, false, lint.WriteHistory},
		{"figures", f.figures, false, func(w io.Writer) error { return yaml.NewEncoder(w).Encode(r.Figures) }},
		{"scenario", f.scenario, true, text(r.Figures.Scenario())},
		{"setup", f.risk, true, text(r.Figures.Risk())},
	} {
		if file.path == "" {
			continue
		}
		if file.needsLeases && r.Leases == 0 {
			fmt.Fprintf(os.Stderr, "no %s was written: no lease was seen\n", file.what)
		} else if err := writeOutput(file.path, func(w io.Writer, _ string) error { return file.write(w) }); err != nil {
			return fmt.Errorf("write the %s: %w", file.what, err)
		}
	}
	return lintOutcome(out, &r, f.json)
}

// lintOutcome prints the report, and turns it into the command's outcome.
func lintOutcome(out io.Writer, r *watch.Result, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(out, string(text))
	} else {
		r.Print(out)
	}
	switch {
	case r.Failed():
		return verdictError(checker.Violated)
	case r.Locks == 0:
		return verdictError(checker.Invalid)
	}
	return nil
}
