//go:build !windows

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/clients"
	"lockpick/cluster"
	"lockpick/workload"
	"lockpick/workload/remote"
)

// clientCheckCommand returns the command that checks whether a client follows the protocol.
func clientCheckCommand() *cobra.Command {
	driver := scenario.Auto
	masters := 3
	cmd := &cobra.Command{
		Use:   "check -- COMMAND [ARGUMENT]...",
		Short: "Check that a client keeps to the protocol, on real masters",
		Long: `Check starts the command and has it answer scripted exchanges on real masters: a grant, a refusal, an
extension, a release of what is gone, masters that do not answer, being stopped and killed. Each failure names the
line, the field and what was expected. Hints name rules of lockpick watch that the client's commands break; they do
not count as failures. docs/clients.md describes the protocol.

Exit codes: 0 it keeps to it, 1 it does not, 64 bad usage, 70 the masters could not be started.`,
		Example: "  lockpick client check -- python3 lock.py\n  lockpick client check redis-py",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if on := scenario.OfStore(args); on != nil {
				return usageError{fmt.Errorf("%s is a client of %s, and the scripted exchanges need masters of Redis: try lockpick run --client %[1]s", args[0], on.Service.Name)}
			}
			command, err := clients.Resolve(args)
			if err != nil {
				return usageError{err}
			}
			return checkClient(cmd.Context(), command, driver, masters)
		},
	}
	cmd.Flags().StringVar(&driver, "driver", driver, "what runs the masters: auto, docker, process")
	cmd.Flags().IntVar(&masters, "masters", masters, "number of masters")
	return cmd
}

func checkClient(ctx context.Context, command []string, driver string, n int) (err error) {
	all := drivers()
	d, _, err := all.Choose(ctx, driver, cluster.Software{})
	if err == nil && d.Start == nil {
		err = fmt.Errorf("the driver %s has no real masters: install redis-server", d.Name)
	}
	if err != nil {
		return err
	}
	masters, err := d.Start(ctx, cluster.Config{Masters: n, Persistence: cluster.None})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, masters.Close()) }()
	failed := 0
	lint, err := campaign.NewLint(n, 0, time.Now())
	if err != nil {
		return err
	}
	clocks := func() (workload.ProgramClocks, error) { return all.ProgramClocks(ctx) }
	follow := func(master int, link cluster.Link) { lint.Observe(master, link) }
	err = remote.Conform(ctx, command, masters, clocks, follow, func(f remote.Finding) {
		switch {
		case f.Problem != "":
			failed++
			fmt.Fprintf(os.Stdout, "FAILED      %s\n            %s\n", f.Name, f.Problem)
		case f.Skipped != "":
			fmt.Fprintf(os.Stdout, "not tested  %s: %s\n", f.Name, f.Skipped)
		default:
			fmt.Fprintf(os.Stdout, "ok          %s\n", f.Name)
		}
		if f.Note != "" {
			fmt.Fprintf(os.Stdout, "            note: %s\n", f.Note)
		}
	})
	if err != nil {
		return err
	}
	for _, h := range lint.Hints(time.Now()) {
		fmt.Fprintf(os.Stdout, "hint        %s\n", h)
	}
	if failed > 0 {
		return verdictError(checker.Violated)
	}
	return nil
}
