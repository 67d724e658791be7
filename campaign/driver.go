package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/workload"
)

// Driver starts masters of one kind.
type Driver struct {
	Name  string
	Start func(context.Context, cluster.Config) (cluster.Cluster, error) // nil: they are simulated
	// Available reports whether it can, and what with, or why not and what to do.
	Available func(ctx context.Context, image string) (ok bool, why string)
	// Sweep removes what its dead harnesses left behind, and says what. Leftovers lists that.
	Sweep     func(context.Context) ([]string, error)
	Leftovers func(context.Context) ([]string, error)
}

// sweepWithin bounds the time for the leftovers of drivers other than the one that starts: their
// engine may hang, and the campaign does not need it.
const sweepWithin = 3 * time.Second

// Sweep removes what dead harnesses left behind, whichever driver they used, and says what.
func Sweep(ctx context.Context) (removed []string, err error) {
	for _, d := range RealDrivers {
		gone, problem := d.Sweep(ctx)
		removed, err = append(removed, gone...), errors.Join(err, problem)
	}
	return removed, err
}

// Leftovers lists what Sweep would remove, and changes nothing.
func Leftovers(ctx context.Context) (all []string, err error) {
	for _, d := range RealDrivers {
		left, problem := d.Leftovers(ctx)
		all, err = append(all, left...), errors.Join(err, problem)
	}
	return all, err
}

// sweepOthers removes the leftovers of the drivers beside the one that starts, which removes its
// own.
func sweepOthers(ctx context.Context, starting string) (removed []string) {
	for _, d := range RealDrivers {
		if d.Name != starting {
			bounded, cancel := context.WithTimeout(ctx, sweepWithin)
			gone, _ := d.Sweep(bounded) // what is left is found by the next start
			cancel()
			removed = append(removed, gone...)
		}
	}
	return removed
}

// RealDrivers are the drivers on real masters, the best first. Programs that want them import
// internal/realdrivers; without it there are only simulated masters.
var RealDrivers []Driver

// simulated is the driver without real masters: it needs nothing but this program.
var simulated = Driver{Name: Sim, Available: func(context.Context, string) (bool, string) {
	return true, "simulated masters in virtual time"
}}

// ChooseDriver finds the driver that was asked for; auto takes the best of those
// that are available. why says which and why in one line.
func ChooseDriver(ctx context.Context, name, image string) (d Driver, why string, err error) {
	if name == Virtual {
		return Driver{}, "", fmt.Errorf("the driver %s runs in Go tests alone (package locktest): choose another with --driver", name)
	}
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

// StartClient starts a client that is a process. It may say of itself what it is, by a method Hello. It is registered as RealDrivers are.
var StartClient func(command workload.Command, site workload.Env) (workload.Lock, error)
