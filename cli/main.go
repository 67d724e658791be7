package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/abort"
	"lockpick/internal/spelling"
	"lockpick/reports/term"
)

// The exit codes. Scripts depend on them.
const (
	exitHolds     = 0
	exitViolated  = 1
	exitUndecided = 2 // unknown, invalid, not tested although it was asked for, or interrupted
	exitUsage     = 64
	exitHarness   = 70
)

// usageError is an error that the user can correct: in flags, arguments or a scenario.
type usageError struct{ error }

// verdictError carries a verdict other than holds, which sets the exit code.
type verdictError checker.Verdict

func (v verdictError) Error() string { return string(v) }

// undecidedError is a verdict that is neither holds nor violated, with the reason.
type undecidedError judge.Conclusion

func (u undecidedError) Error() string { return fmt.Sprintf("%s: %s", u.Verdict, u.Why) }

// Unwrap returns the verdict, for the exit code.
func (u undecidedError) Unwrap() error { return verdictError(u.Verdict) }

// concluded returns the outcome of a command that reached a conclusion: nil if the verdict is holds.
func concluded(c judge.Conclusion) error {
	switch c.Verdict {
	case checker.Holds:
		return nil
	case checker.Violated:
		return verdictError(c.Verdict)
	}
	return undecidedError(c)
}

// exitCode returns the exit code for a verdict.
func exitCode(v checker.Verdict) int {
	switch v {
	case checker.Holds:
		return exitHolds
	case checker.Violated:
		return exitViolated
	}
	return exitUndecided
}

func run(args []string) (code int) {
	// Where this function cannot recover, the Go runtime would exit with 2, which is a verdict here.
	abort.ExitWith(exitHarness, "lockpick: a goroutine panicked or memory ran out (the line before the stacks says which): an error of Lockpick or of the lock under test, and no verdict. What was recorded stays in its folder, and an audit goes on with --resume")
	defer func() {
		if value := recover(); value != nil {
			code = crashed(value, debug.Stack())
		}
	}()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	stopping := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		stopping = append(stopping, syscall.SIGHUP)
	}
	signal.Notify(signals, stopping...)
	defer signal.Stop(signals)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		fmt.Fprintf(os.Stderr, "\n%v: cleaning up, and reporting what was found (interrupt again to stop at once)\n", s)
		cancel(fmt.Errorf("%v", s))
		if _, ok := <-signals; ok {
			fmt.Fprintln(os.Stderr, "stopped at once: the next run removes what this one left behind")
			os.Exit(exitUndecided)
		}
	}()

	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var verdict verdictError
	var usage usageError
	var problem *scenario.Problem
	switch {
	case err == nil:
		return exitHolds
	case errors.As(err, &verdict):
		if reason := (undecidedError{}); errors.As(err, &reason) {
			complain("%s: %s", undecided(reason.Verdict), reason.Why)
		}
		return exitCode(checker.Verdict(verdict))
	case errors.As(err, &usage), errors.As(err, &problem):
		complain("%v", err)
		return exitUsage
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		complain("interrupted before there was anything to judge: %v", err)
		return exitUndecided
	default:
		complain("%v", err)
		return exitHarness
	}
}

// complain prints a sentence on stderr. Errors quote what others wrote, so control characters are replaced.
func complain(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "lockpick: %s\n", term.PrintableLines(fmt.Sprintf(format, args...)))
}

// crashed reports a panic of the harness in one sentence, and writes the stack to a file. A crash is not a
// verdict.
func crashed(value any, stack []byte) (code int) {
	where := "it could not be kept"
	if f, err := os.CreateTemp("", "lockpick-crash-*.txt"); err == nil {
		_, err = fmt.Fprintf(f, "%v\n\n%s", value, stack)
		if errors.Join(err, f.Close()) == nil {
			where = f.Name()
		}
	}
	fmt.Fprintf(os.Stderr, "lockpick: this is a bug of Lockpick: %v (where: %s; what the run recorded stays in its folder)\n", value, where)
	return exitHarness
}

// undecided returns the word that users read for a verdict that is neither holds nor violated.
func undecided(v checker.Verdict) string {
	switch v {
	case checker.Invalid, judge.NotTested:
		return "INCONCLUSIVE"
	}
	return strings.ToUpper(string(v))
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockpick",
		Short: "Try to break a Redis lock, and prove it",
		Long: `Lockpick runs concurrent clients against a lock on real Redis masters while it pauses,
kills and cuts off masters and stops clients. It records every operation, judges the
history, and explains each violation in the terminal and in an HTML report.

Exit codes: 0 no violation, 1 violated, 2 unknown, invalid (the run proves nothing), not
tested although it was asked for, or interrupted, 64 bad usage or input, 70 an error of the
harness.`,
		Example: `  lockpick run                                             the default campaign
  lockpick run --persistence always --faults kill,pause    does fsync=always hold?
  lockpick run --faults client-pause --fencing             what fencing tokens prevent
  lockpick run scenario.yaml --json                        a scenario, for scripts
  lockpick audit --client 'python3 lock.py'                how safe is my lock? a report card
  lockpick search --faults kill,partition                  search, shrink what is found
  lockpick replay latest --driver process                  re-enact it on real masters
  lockpick check latest                                    judge a recorded run again
  lockpick doctor                                          what this machine can do`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	setHelp(root)
	cobra.EnableCommandSorting = false // the order of a group is that of use
	root.AddGroup(groups...)
	root.AddCommand(under("test", runCommand(), auditCommand(), claimsCommand(), searchCommand())...)
	root.AddCommand(under("explain", showCommand(), whyCommand(), shrinkCommand(), replayCommand(), diffCommand())...)
	root.AddCommand(under("operate", checkCommand(), watchCommand(), locksCommand(), riskCommand(), mastersCommand())...)
	root.AddCommand(under("tools", serveCommand(), listCommand(), pruneCommand(), doctorCommand(), clientCommand())...)
	root.AddCommand(oldCommands()...)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommandGroupID("tools")
	info, _ := debug.ReadBuildInfo()
	root.Version = buildOf(info).String()
	root.SetVersionTemplate("{{println .Version}}")
	complete(root)
	for _, c := range root.Commands() {
		c.Args, c.PreRunE = asUsage(c.Args), clearStdout
		showAllHelp(c)
	}
	root.Args = asUsage(func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		if like := spelling.Nearest(args[0], names); like != "" {
			return fmt.Errorf("there is no command %s: did you mean %s?", args[0], like)
		}
		return fmt.Errorf("there is no command %s", args[0])
	})
	return root
}

// oldCommands are hidden: the names of commands before they were united, for one release.
func oldCommands() []*cobra.Command {
	exhaust, scoreboard := searchCommand(), auditCommand()
	_ = exhaust.Flags().Set("exhaustive", "true") // fails only if there is no such flag
	run := scoreboard.RunE
	scoreboard.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd, []string{everyClient}) }
	return []*cobra.Command{
		oldName(searchCommand(), "explore", "search"), oldName(exhaust, "exhaust", "search --exhaustive"),
		oldName(showCommand(), "report", "show"), oldName(showCommand(), "export", "show --as"),
		oldName(scoreboard, "scoreboard", "audit "+everyClient), oldName(imageCommand(), "image", "doctor --make-image"), oldName(versionCommand(), "version", "--version"),
	}
}

// one requires exactly one argument; if it is missing, the error lists what the command takes. allowed, if
// any, lists the valid values.
func one(what string, allowed ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && (len(allowed) == 0 || slices.Contains(allowed, args[0])) {
			return nil
		}
		return fmt.Errorf("%s what? It takes %s", cmd.Name(), what)
	}
}

// asUsage turns errors in arguments into usage errors.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w (see: %s --help)", err, cmd.CommandPath())}
		}
		return nil
	}
}
