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
	"lockpick/cluster/service/spec"
	"lockpick/history/fault"
	"lockpick/workload"
)

// Driver starts masters of one kind.
type Driver struct {
	Name  string
	Start func(context.Context, cluster.Config) (cluster.Cluster, error) // nil: the masters are simulated
	// Within is set instead of Start by a driver of masters in memory. It calls f while these masters exist.
	Within func(cfg cluster.Config, seed uint64, f func(cluster.Cluster) error) error
	// Available reports whether the driver can start masters. why describes what it uses, or why it cannot
	// and what helps.
	Available func(ctx context.Context, want cluster.Software) (ok bool, why string)
	// Sweep removes what dead harnesses have left behind with this driver, and lists it. Leftovers only lists
	// it.
	Sweep     func(context.Context) ([]string, error)
	Leftovers func(context.Context) ([]string, error)
	// Scratch makes a folder. Sweep removes it if this process ends without calling remove.
	Scratch func() (folder string, remove func() error, err error)
}

// Software names what runs as masters.
type Software = cluster.Software

// sweepWithin limits the time for sweeping with each driver other than the one that starts: its engine may
// hang, and the campaign does not need it.
const sweepWithin = 3 * time.Second

// Sweep removes what dead harnesses have left behind with any driver, and lists it.
func Sweep(ctx context.Context) (removed []string, err error) {
	for _, d := range RealDrivers {
		gone, problem := d.Sweep(ctx)
		removed, err = append(removed, gone...), errors.Join(err, problem)
	}
	return removed, err
}

// Scratch makes a folder for files that are useless after this process has ended. If the process ends without
// calling remove, the next start of masters removes the folder.
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

// sweepOthers sweeps with all drivers except the one that starts, which sweeps by itself. It ignores errors.
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

// RealDrivers lists the drivers for real masters, the preferred first. Programs that need them import
// internal/realdrivers; without it there are only simulated masters.
var RealDrivers []Driver

// InMemory is the driver of masters in memory that locks connect to, or nil. Programs that support it set it
// to bubble.Driver (package campaign/bubble).
var InMemory *Driver

// simulated is the driver without real masters. It needs only this program.
var simulated = Driver{Name: scenario.Sim, Available: func(_ context.Context, want cluster.Software) (bool, string) {
	if want.Server != "" {
		return false, "simulated masters run no server: leave " + want.Server + " out"
	}
	return true, "simulated masters in virtual time"
}}

// ChooseDriver returns the driver with a name; auto selects the best available one. why names the driver and
// the reason in one line. If ctx ends meanwhile, the error is its cause.
func ChooseDriver(ctx context.Context, name string, want cluster.Software) (d Driver, why string, err error) {
	if name == scenario.Virtual {
		if InMemory == nil {
			return Driver{}, "", fmt.Errorf("the driver %s is not part of this program: choose another", name)
		}
		d = *InMemory
		_, why := d.Available(ctx, want)
		return d, fmt.Sprintf("driver %s: %s", d.Name, why), nil
	}
	reasons := ""
	for _, d := range append(slices.Clone(RealDrivers), simulated) {
		if name != scenario.Auto && name != d.Name {
			continue
		}
		ok, why := d.Available(ctx, want)
		switch {
		case !ok && ctx.Err() != nil: // an interrupted check proves nothing
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

// StartService starts the servers of a service. It is nil where programs cannot be stopped by signals. The package that
// sets RealDrivers also sets StartService.
var StartService func(context.Context, cluster.Config, *spec.Service) (cluster.Cluster, error)

// ConnectExisting connects to the servers at Config.At. The package that sets RealDrivers also sets ConnectExisting.
var ConnectExisting func(context.Context, cluster.Config) (cluster.Cluster, error)

// driverFor chooses the driver of a scenario.
func driverFor(ctx context.Context, s *scenario.Scenario) (Driver, string, error) {
	switch {
	case len(s.At) > 0 && ConnectExisting == nil:
		return Driver{}, "", errors.New("this program cannot connect to Redis servers")
	case len(s.At) > 0:
		return Driver{Name: fault.Existing, Start: ConnectExisting, Scratch: Scratch}, fmt.Sprintf("driver %s: servers of your own", fault.Existing), nil
	case s.Service == nil:
		return ChooseDriver(ctx, s.Driver, s.Software())
	case StartService == nil:
		return Driver{}, "", fmt.Errorf("this program cannot run servers of %s on this system", s.Service.Name)
	}
	start := func(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
		return StartService(ctx, cfg, s.Service)
	}
	return Driver{Name: fault.Service, Start: start, Scratch: Scratch}, fmt.Sprintf("driver %s: %s, as processes of %s", fault.Service, s.Service.Name, s.Service.Command[0]), nil
}

// StartClient starts a client that is a process. The client may have a method Hello, which returns its
// description of itself. The package that sets RealDrivers also sets StartClient.
var StartClient func(command workload.Command, site workload.Env) (workload.Lock, error)

// ProgramClocks makes clocks for a client process that cannot change its own clock. The error explains why
// this machine cannot. The package that sets RealDrivers also sets ProgramClocks.
var ProgramClocks func(ctx context.Context) (workload.ProgramClocks, error)
