package campaign

import (
	"context"
	"fmt"
	"slices"

	"lockpick/cluster"
)

// Driver starts masters of one kind.
type Driver struct {
	Name  string
	Start func(context.Context, cluster.Config) (cluster.Cluster, error) // nil: they are simulated
	// Available says whether it can, and what with, or why not and what to do.
	Available func(ctx context.Context, image string) (ok bool, why string)
}

// RealDrivers are the drivers on real masters, the best first.
var RealDrivers = []Driver{
	{Name: Docker, Start: cluster.Docker, Available: cluster.DockerAvailable},
	{Name: Process, Start: cluster.Process, Available: func(ctx context.Context, _ string) (bool, string) { return cluster.ProcessAvailable(ctx) }},
}

// simulated is the driver without real masters: it needs nothing but this program.
var simulated = Driver{Name: Sim, Available: func(context.Context, string) (bool, string) {
	return true, "simulated masters in virtual time"
}}

// chooseDriver finds the driver that was asked for; auto takes the best of those
// that are available. why says which and why in one line.
func chooseDriver(ctx context.Context, name, image string) (d Driver, why string, err error) {
	reasons := ""
	for _, d := range append(slices.Clone(RealDrivers), simulated) {
		if name != Auto && name != d.Name {
			continue
		}
		ok, why := d.Available(ctx, image)
		switch {
		case ok && name == Auto:
			return d, fmt.Sprintf("driver %s: %s%s", d.Name, why, reasons), nil
		case ok:
			return d, fmt.Sprintf("driver %s: %s", d.Name, why), nil
		}
		reasons += fmt.Sprintf("; not %s: %s", d.Name, why)
	}
	return Driver{}, "", fmt.Errorf("the driver %s is not available%s", name, reasons)
}
