package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// clientCheckCommand returns a command that only reports that clients cannot be checked on Windows.
func clientCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check [SCENARIO.yaml] [--] COMMAND [ARGUMENT]...",
		Short:   "Check that a client keeps to the protocol, on real masters (not on Windows)",
		Example: "  lockpick client check -- python3 lock.py",
		RunE:    func(*cobra.Command, []string) error { return errors.New(notOnWindows) },
	}
}
