package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockpick/cluster"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Say what this machine can run, and what to install for more",
		Long:    "Doctor looks for what the drivers need, and removes what a killed harness left behind.\nIt exits with 70 if no driver can run.",
		Example: "  lockpick doctor",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			removed, err := cluster.Sweep(ctx) // first: to try a driver removes its leftovers too
			for _, f := range cluster.Doctor(ctx) {
				mark := "ok"
				if !f.OK {
					mark = "MISSING"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.What, mark, f.Detail)
			}
			switch {
			case err != nil:
				fmt.Fprintf(w, "leftovers\tFAILED\t%v\n", err)
			case len(removed) == 0:
				fmt.Fprintf(w, "leftovers\tok\tnone of a killed harness\n")
			}
			for _, what := range removed {
				fmt.Fprintf(w, "leftovers\tremoved\t%s\n", what)
			}
			docker, _ := cluster.DockerAvailable(ctx, "")
			process, _ := cluster.ProcessAvailable(ctx)
			switch {
			case docker:
				fmt.Fprintf(w, "driver auto\tok\ttakes docker\n")
			case process:
				fmt.Fprintf(w, "driver auto\tok\ttakes process\n")
			default:
				fmt.Fprintf(w, "driver auto\tMISSING\tstart a Docker engine, or install redis-server\n")
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if !docker && !process {
				return fmt.Errorf("no driver can run on this machine")
			}
			return nil
		},
	}
}

func imageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "image",
		Short: "Make sure that there is a Docker image to run masters from",
		Long: `Image prints the image that the docker driver will use: the official Redis image if it is
local or a registry answers, else one that it builds from this machine's redis-server.`,
		Example: "  lockpick image",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ref, why, err := cluster.DefaultImage(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintln(os.Stderr, why)
			fmt.Println(ref)
			return nil
		},
	}
}
