package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/internal/loopback"
	"lockpick/serve"
)

func serveCommand() *cobra.Command {
	var listen string
	var writable bool
	cmd := &cobra.Command{
		Use:   "serve [STORE]",
		Short: "Show the runs of a store in a browser, and compare them",
		Long: `Serve shows a store in a browser: its runs, claims and audits, the newest first, with verdict,
lock, faults and violations per minute, their reports, a run while it goes on, what differs
between two runs, and what changed from run to run of a scenario. It listens on this machine
only, needs nothing from the network and changes nothing; with --write runs can be labelled
and deleted. Ctrl-C ends it.`,
		Example: `  lockpick serve
  lockpick serve /var/lib/lockpick --listen 127.0.0.1:9000
  lockpick serve --write`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store := campaign.Store{Dir: "store"}
			if len(args) > 0 {
				store.Dir = args[0]
			}
			return runServe(cmd.Context(), store, listen, writable)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8417", "address of this machine to listen on; port 0: any that is free")
	cmd.Flags().BoolVar(&writable, "write", false, "let runs be labelled and deleted")
	return cmd
}

func runServe(ctx context.Context, store campaign.Store, address string, writable bool) error {
	if info, err := os.Stat(store.Dir); err != nil || !info.IsDir() {
		return usageError{fmt.Errorf("there is no store %s: name its folder, or make a run first", store.Dir)}
	}
	listener, err := loopback.Listen(address)
	if err != nil {
		return usageError{fmt.Errorf("--listen %w", err)}
	}
	server, err := serve.New(store, listener.Addr(), writable)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	web := server.HTTP()
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	fmt.Printf("http://%s\n", listener.Addr())
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(loopback.Stop(web), <-ended)
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, server.Close())
}
