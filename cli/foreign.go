package cli

import (
	"fmt"
	"io"

	"lockpick/clients"
)

// listClients lists the clients that --client starts by name, and what is missing for those
// that cannot be started.
func listClients(w io.Writer) {
	for _, c := range clients.All {
		state := ""
		if _, err := c.Command(); err != nil {
			state = "  MISSING: " + c.Package
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\n", c.Name, c.Language, c.Summary, state)
	}
}
