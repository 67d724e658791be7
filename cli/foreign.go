package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/shlex"

	"lockpick/clients"
)

// clientCommandOf returns the command that --client names.
func clientCommandOf(text string) ([]string, error) {
	words, err := shlex.Split(text)
	if err == nil && len(words) == 0 {
		err = errors.New("no command is given")
	}
	return words, err
}

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
