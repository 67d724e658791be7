package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// machine offers the features that depend on the operating system: all but simulation.
type machine interface {
	// doctor writes a line for each requirement of real masters: its name, ok or MISSING, and
	// details.
	doctor(ctx context.Context, w io.Writer)
	// auto returns the driver that --driver auto selects. If that is the simulator, it adds what real masters
	// need.
	auto(ctx context.Context) string
	// image returns the Docker image for masters, and the reason for the choice.
	image(ctx context.Context) (ref, why string, err error)
	// serveClient runs one client of a campaign.
	serveClient(in io.Reader, out io.Writer) error
	// clocks reports whether the fault client-clock can change the clocks of client processes that do not
	// change their own, and if not, why.
	clocks(ctx context.Context) (ok bool, why string)
	// shim reports whether the faults that need the fault shim are available, and if not, why.
	shim(ctx context.Context) (ok bool, why string)
}

func doctorCommand() *cobra.Command {
	var clean, image bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can run, and what to install for more",
		Long: `Doctor looks for what the drivers need, and for what killed harnesses of this user left behind. It
changes nothing; with --clean it removes those leftovers. The simulator runs on every machine, so
doctor exits with 0 also where no Redis can be started.`,
		Example: `  lockpick doctor
  lockpick doctor --clean      also remove what killed harnesses left behind
  lockpick doctor --make-image make sure that there is a Docker image to run masters from`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if image {
				return makeImage(ctx)
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			here.doctor(ctx, w)
			failed := leftovers(ctx, w, clean)
			fmt.Fprintf(w, "simulator\tok\tneeds nothing but this program\n")
			fmt.Fprintf(w, "driver auto\tok\ttakes %s\n", here.auto(ctx))
			return errors.Join(w.Flush(), failed)
		},
	}
	cmd.Flags().BoolVar(&image, "make-image", false, "print the image that the docker driver will use: the official one if it is local or a registry answers, else one that is built from this machine's redis-server")
	cmd.Flags().BoolVar(&clean, "clean", false, "remove what killed harnesses of this user left behind: containers, servers, data")
	return cmd
}

// leftovers lists what killed harnesses left behind, and removes it if clean is set.
func leftovers(ctx context.Context, w io.Writer, clean bool) error {
	all := drivers()
	look, mark, none := all.Leftovers, "LEFT", "none of a killed harness"
	if clean {
		look, mark = all.Sweep, "removed"
	}
	found, err := look(ctx)
	if err == nil && len(found) == 0 {
		fmt.Fprintf(w, "leftovers\tok\t%s\n", none)
	}
	for _, what := range found {
		hint := ""
		if !clean {
			hint = "; lockpick doctor --clean removes it, and so does the next run"
		}
		fmt.Fprintf(w, "leftovers\t%s\t%s%s\n", mark, what, hint)
	}
	if err != nil {
		fmt.Fprintf(w, "leftovers\tFAILED\t%v\n", err)
	}
	return err
}

// makeImage makes sure that there is a Docker image, and prints its name.
func makeImage(ctx context.Context) error {
	ref, why, err := here.image(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, why)
	fmt.Println(ref)
	return nil
}

func imageCommand() *cobra.Command {
	return &cobra.Command{
		Use: "image", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return makeImage(cmd.Context()) },
	}
}
