package cli

import (
	"os"

	"github.com/spf13/cobra"
)

func clientCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "client",
		Short: "Be one client of a campaign (what --clients-as processes starts)",
		Long: `Client serves one client over stdin and stdout, one JSON object a line: what run starts for
each client with --clients-as processes. docs/clients.md describes the protocol.`,
		Example: `  echo '{"op":"exit"}' | lockpick client`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := here.serveClient(os.Stdin, os.Stdout); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
	cmd.AddCommand(clientCheckCommand())
	return cmd
}
