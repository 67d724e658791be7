//go:build !windows

package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/workload"
	"lockpick/workload/remote"
)

// clientCheckCommand returns the command that checks whether a client follows the protocol.
func clientCheckCommand() *cobra.Command {
	s := scenario.Defaults()
	s.Masters = 3
	var programs trust
	cmd := &cobra.Command{
		Use:   "check [SCENARIO.yaml] [--] COMMAND [ARGUMENT]...",
		Short: "Check that a client keeps to the protocol, on real masters",
		Long: `Check starts the command and has it answer scripted exchanges on real masters: a grant, a refusal, an
extension, a release of what is gone, masters that do not answer, being stopped and killed. Each failure names the
line, the field and what was expected. Hints name rules of lockpick watch that the client's commands break; they do
not count as failures. docs/clients.md describes the protocol.

A SCENARIO.yaml with a service (docs/services.md) says which servers of another store the client uses; the command
may be left out then. The names of clients that come with Lockpick bring theirs.

Exit codes: 0 it keeps to it, 1 it does not, 64 bad usage, 70 the masters could not be started.`,
		Example: "  lockpick client check -- python3 lock.py\n  lockpick client check redis-py\n  lockpick client check examples/services/etcd.yaml --trust -- ./my-etcd-lock",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var file []string
			if isScenario(args[0]) && cmd.ArgsLenAtDash() != 0 {
				file, args = args[:1], args[1:]
			}
			if err := checkedOn(cmd, &s, file, args); err != nil {
				return err
			}
			if len(args) > 0 { // named by the user
				programs.grant(campaign.Programs(&scenario.Scenario{Client: s.Client})...)
			}
			if err := programs.askAbout(cmd, file, &s); err != nil {
				return err
			}
			return checkClient(cmd.Context(), s, programs.allow)
		},
	}
	programs.flag(cmd, "the scenario")
	cmd.Flags().StringVar(&s.Driver, "driver", s.Driver, "what runs the masters: auto, docker, process")
	cmd.Flags().IntVar(&s.Masters, "masters", s.Masters, "number of masters")
	return cmd
}

// checkedOn completes the scenario with what a client is checked on: masters of Redis, or the servers of a service.
func checkedOn(cmd *cobra.Command, s *scenario.Scenario, file, command []string) error {
	on := scenario.OfStore(command)
	if len(file) > 0 {
		loaded, err := scenario.Load(file[0])
		if err != nil {
			return usageError{err}
		}
		if on = &loaded; on.Service == nil {
			return usageError{fmt.Errorf("%s describes no service: leave it out, and give the command alone", file[0])}
		}
	}
	if on == nil {
		s.Client = command
		return nil
	}
	if cmd.Flags().Changed("driver") {
		return usageError{fmt.Errorf("the servers are those of %s: leave --driver out", on.Service.Name)}
	}
	s.Service, s.Client = on.Service, on.Client
	if len(command) > 0 {
		s.Client = command
	}
	if !cmd.Flags().Changed("masters") {
		s.Masters = on.Masters
	}
	return nil
}

func checkClient(ctx context.Context, s scenario.Scenario, allow func(campaign.Program) error) error {
	command, err := campaign.ClientCommand(&s)
	if err != nil {
		return usageError{err}
	}
	all := drivers()
	return campaign.WithMasters(ctx, s, campaign.Options{Drivers: all, Trust: allow}, func(masters cluster.Cluster) error {
		return conforms(ctx, s, command, all, masters)
	})
}

// conforms checks a client on masters, and prints what it finds.
func conforms(ctx context.Context, s scenario.Scenario, command []string, all campaign.Drivers, masters cluster.Cluster) error {
	lint, err := campaign.NewLint(s.Masters, 0, time.Now())
	if err != nil {
		return err
	}
	check := remote.Conformance{
		Command: command, Masters: masters, Keeps: s.Service != nil,
		Clocks: func() (workload.ProgramClocks, error) { return all.ProgramClocks(ctx) },
		Env:    func(addrs []string) ([]string, error) { return campaign.ClientVariables(&s, addrs) },
	}
	if s.Service == nil {
		check.Observe = func(master int, link cluster.Link) { lint.Observe(master, link) }
	}
	failed := 0
	err = check.Run(ctx, func(f remote.CheckResult) {
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
