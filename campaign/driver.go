package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/workload"
)

// Driver starts masters of one kind.
type Driver struct {
	Name  string
	Start func(context.Context, cluster.Config) (cluster.Cluster, error) // nil: they are simulated
	// Within, instead of Start, calls f where there are masters in memory, which locks connect to.
	Within func(cfg cluster.Config, seed uint64, f func(cluster.Cluster) error) error
	// Available reports whether the driver can start masters, and with what; or why not, and
	// what to do.
	Available func(ctx context.Context, image string) (ok bool, why string)
	// Sweep removes what dead harnesses have left behind with this driver, and lists it.
	// Leftovers only lists it.
	Sweep     func(context.Context) ([]string, error)
	Leftovers func(context.Context) ([]string, error)
	// Scratch makes a folder that Sweep removes if this process ends before it is removed.
	Scratch func() (folder string, remove func() error, err error)
}

// sweepWithin bounds the time for the leftovers of drivers other than the one that starts:
// their engine may hang, and the campaign does not need it.
const sweepWithin = 3 * time.Second

// Sweep removes what dead harnesses have left behind, whichever driver they used, and lists it.
func Sweep(ctx context.Context) (removed []string, err error) {
	for _, d := range RealDrivers {
		gone, problem := d.Sweep(ctx)
		removed, err = append(removed, gone...), errors.Join(err, problem)
	}
	return removed, err
}

// Scratch makes a folder for files that nobody needs once this process has ended: if it ends before it
// removes the folder, the next start of masters does.
func Scratch() (folder string, remove func() error, err error) {
	for _, d := range RealDrivers {
		if d.Scratch != nil {
			return d.Scratch()
		}
	}
	folder, err = os.MkdirTemp("", "lockpick-")
	return folder, func() error { return os.RemoveAll(folder) }, err
}

// Leftovers lists what Sweep would remove, and changes nothing.
func Leftovers(ctx context.Context) (all []string, err error) {
	for _, d := range RealDrivers {
		left, problem := d.Leftovers(ctx)
		all, err = append(all, left...), errors.Join(err, problem)
	}
	return all, err
}

// sweepOthers removes the leftovers of the drivers other than the one that starts, which
// removes its own.
func sweepOthers(ctx context.Context, starting string) (removed []string) {
	for _, d := range RealDrivers {
		if d.Name != starting {
			bounded, cancel := context.WithTimeout(ctx, sweepWithin)
			gone, _ := d.Sweep(bounded) // the next start removes what is left
			cancel()
			removed = append(removed, gone...)
		}
	}
	return removed
}

// RealDrivers are the drivers for real masters, the best first. Programs that need them import
// internal/realdrivers; without it there are only simulated masters.
var RealDrivers []Driver

// InMemory is the driver of masters in memory that locks connect to. Programs that have it set it
// (package campaign/bubble); nil: there is none.
var InMemory *Driver

// simulated is the driver without real masters. It needs only this program.
var simulated = Driver{Name: scenario.Sim, Available: func(context.Context, string) (bool, string) {
	return true, "simulated masters in virtual time"
}}

// ChooseDriver finds the driver that was asked for; auto selects the best available one. why
// says which one and why, in one line. If ctx ends meanwhile, the error is its cause.
func ChooseDriver(ctx context.Context, name, image string) (d Driver, why string, err error) {
	if name == scenario.Virtual {
		if InMemory == nil {
			return Driver{}, "", fmt.Errorf("the driver %s is not part of this program: choose another", name)
		}
		d = *InMemory
		_, why := d.Available(ctx, image)
		return d, fmt.Sprintf("driver %s: %s", d.Name, why), nil
	}
	reasons := ""
	for _, d := range append(slices.Clone(RealDrivers), simulated) {
		if name != scenario.Auto && name != d.Name {
			continue
		}
		ok, why := d.Available(ctx, image)
		switch {
		case !ok && ctx.Err() != nil: // a look that was interrupted proves nothing
			return Driver{}, "", context.Cause(ctx)
		case ok && name == scenario.Auto:
			return d, fmt.Sprintf("driver %s: %s%s", d.Name, why, reasons), nil
		case ok:
			return d, fmt.Sprintf("driver %s: %s", d.Name, why), nil
		}
		reasons += fmt.Sprintf("; not %s: %s", d.Name, why)
	}
	return Driver{}, "", fmt.Errorf("the driver %s is not available%s", name, reasons)
}

// StartClient starts a client that is a process. The client may have a method Hello with its
// description of itself. It is registered in the same way as RealDrivers.
var StartClient func(command workload.Command, site workload.Env) (workload.Lock, error)

// ProgramClocks makes clocks for a client that is a process and cannot bend its own. The error says
// why there are none here. It is registered in the same way.
var ProgramClocks func(ctx context.Context) (workload.ProgramClocks, error)
