package cli

import (
	"context"
	"fmt"
	"io"

	"lockpick/clients"
)

// listClients lists the clients that --client starts by name, with the missing package of each that cannot be
// started. It also shows whether the fault client-clock can change a client's clock on this machine.
func listClients(ctx context.Context, w io.Writer) {
	skews, why := here.clocks(ctx)
	for _, c := range clients.All {
		state := ""
		if _, err := c.Command(); err != nil {
			state = "  MISSING: " + c.Needs()
		}
		clocks := "clocks can be skewed"
		if !skews || !c.Skews() {
			clocks = "clocks cannot be skewed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", c.Name, c.Language, c.Summary, clocks, state)
	}
	if !skews {
		fmt.Fprintf(w, "\nThe clocks of no client can be skewed here: %s\n", why)
	}
}
