package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
)

// trust decides which programs may be started. Those that the user names on the command line may; for those that
// a file names, which may come from somebody else, the user is asked or says --trust.
type trust struct {
	all     bool     // --trust
	granted []string // texts of the programs that may be started
}

func (t *trust) flag(cmd *cobra.Command, from string) {
	cmd.Flags().BoolVar(&t.all, "trust", false, "start the programs that "+from+" names without asking: its client, its server, its Docker image")
}

// grant allows the programs that the user named.
func (t *trust) grant(programs ...campaign.Program) {
	for _, p := range programs {
		t.granted = append(t.granted, p.String())
	}
}

// askAbout asks about the programs of the scenario in a file (args), except for those that flags name.
func (t *trust) askAbout(cmd *cobra.Command, args []string, s *scenario.Scenario) error {
	for _, p := range campaign.Programs(s) {
		if len(args) == 0 || cmd.Flags().Changed(p.Field) {
			t.grant(p)
		}
	}
	return t.ask(cmd.Context(), strings.Join(args, ""), campaign.Programs(s))
}

// ask asks the user whether the programs that a file names may be started. It returns a usage error if not, or if
// there is no terminal to ask at.
func (t *trust) ask(ctx context.Context, file string, programs []campaign.Program) error {
	for _, p := range programs {
		if t.allow(p) == nil {
			continue
		}
		if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
			return usageError{fmt.Errorf("%s names a program that would run with your rights: %v\nAdd --trust if you know where it comes from", file, p)}
		}
		fmt.Fprintf(os.Stderr, "%s names a program that would run with your rights:\n  %v\nStart it? [y/N] ", file, p)
		yes, err := confirmed(ctx)
		if err != nil {
			return err
		}
		if !yes {
			return usageError{errors.New("not started")}
		}
		t.grant(p)
	}
	return nil
}

// allow returns an error if a program may not be started: it is campaign.Options.Trust.
func (t *trust) allow(p campaign.Program) error {
	if !t.all && !slices.Contains(t.granted, p.String()) {
		return usageError{fmt.Errorf("%v may not be started", p)}
	}
	return nil
}

// confirmed reads an answer from the terminal.
func confirmed(ctx context.Context) (bool, error) {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // without a line it is no
		answer <- line
	}()
	select {
	case line := <-answer:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
