package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/internal/loopback"
	"lockpick/masters"
)

// mastersFields are the fields of a scenario that lockpick masters takes beside those of masters: the clients are not its own.
var mastersFields = []string{"name", "clients", "ttl", "seed", "driver", "server", "image"}

func mastersCommand() *cobra.Command {
	var flags scenarioFlags
	var store, listen string
	var out output
	var programs trust
	var remote bool
	cmd := &cobra.Command{
		Use:   "masters [SCENARIO.yaml]",
		Short: "Start masters for your own tests: faults over HTTP, and a verdict",
		Long: `Masters starts Redis masters as run does, prints their addresses, and injects the faults that a program
asks for over HTTP: a test in any language kills, pauses, cuts off or power-cuts masters at the moment
it wants. Each of the clients c1, c2, … has links of its own, so that one can be cut off alone.

What tests report about their locks (POST /events) is judged at the end, with the votes of the masters:
POST /stop ends the run and answers with its result.

The server listens on this machine only; all its paths begin with a secret that the address has. It ends
with POST /stop, with Ctrl-C, and when the program that started it closes its stdin, if that is a pipe.
Exit codes are those of run. Clients for pytest, Go and JUnit: docs/masters.md.`,
		Example: `  lockpick masters
  lockpick masters --masters 1 --persistence always --driver process
  lockpick masters --json < /dev/null          one line of JSON for programs, then the result
  curl -d '{"fault":"kill","masters":["m1"]}' $API/faults
  curl -d '{"fault":"partition","clients":["c2"],"masters":["majority"],"for":"3s"}' $API/faults
  curl -X DELETE $API/faults                   heal all
  curl -X POST $API/stop                       the result`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.ofRun(cmd, args, &programs)
			if err != nil {
				return err
			}
			if len(args) == 0 && !cmd.Flags().Changed("name") {
				s.Name = "masters"
			}
			out.to = cmd.OutOrStdout()
			return runMasters(cmd.Context(), s, campaign.Options{Drivers: drivers(), Store: campaign.Store{Dir: store}, Trust: programs.allow, AllowRemote: remote}, out, listen)
		},
	}
	cmd.Flags().SortFlags = false
	flags.register(cmd, func(f *scenario.Field) bool {
		return f.Section == scenario.MastersSection && f.Name != "wait" || slices.Contains(mastersFields, f.Name)
	})
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of this machine for the HTTP API; port 0: any that is free")
	storeFlag(cmd, &store)
	programs.flag(cmd, "the scenario")
	cmd.Flags().BoolVar(&remote, "allow-remote", false, "allow servers of other machines in --at")
	out.flags(cmd)
	return cmd
}

func runMasters(ctx context.Context, s scenario.Scenario, opt campaign.Options, out output, listen string) error {
	listener, err := loopback.Listen(listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen %w", err)}
	}
	server, err := masters.New(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if in, err := os.Stdin.Stat(); err == nil && in.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			fmt.Fprintln(os.Stderr, "stdin was closed: the masters end (with < /dev/null they stay)")
			cancel(errors.New("stdin was closed"))
		}()
	}
	opt.Session = func(ctx context.Context, session *campaign.Session) error {
		return server.Serve(ctx, session, func(state masters.State) { announceMasters(out, state) })
	}
	out.judged = server.Judged
	err = runScenario(ctx, s, opt, out)
	return errors.Join(err, server.Close(err))
}

// announceMasters prints where the API and the masters are: as one line of JSON, or as lines that end with an empty one.
func announceMasters(out output, state masters.State) {
	if out.json {
		b, err := json.Marshal(state)
		if err == nil {
			_, _ = fmt.Fprintf(out.to, "%s\n", b)
		}
		return
	}
	fmt.Fprintf(out.to, "API=%s\n", state.API)
	access := cluster.Access{User: state.User, Password: state.Password, CA: state.CA}
	if access.CA != "" {
		fmt.Fprintf(out.to, "CA=%s\n", access.CA)
	}
	for _, client := range slices.SortedFunc(maps.Keys(state.Clients), history.CompareNames) {
		fmt.Fprint(out.to, client)
		for _, address := range state.Clients[client] {
			if access != (cluster.Access{}) {
				address = access.URL(address)
			}
			fmt.Fprint(out.to, " ", address)
		}
		fmt.Fprintln(out.to)
	}
	fmt.Fprintln(out.to)
}
