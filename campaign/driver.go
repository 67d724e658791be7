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

// Driver lends masters of one kind.
type Driver struct {
	Name    string
	Virtual bool // masters are simulated or in memory, and time is virtual
	Lend    Lend
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

// Lend calls use with masters for a scenario, and takes them back when use returns. Masters in memory exist in a time of their
// own, in which use runs. The error is that of use, or says why there were no masters.
type Lend func(ctx context.Context, s *scenario.Scenario, cfg cluster.Config, use func(cluster.Cluster) error) error

// Starting lends masters that start starts, and closes them.
func Starting(start func(context.Context, cluster.Config) (cluster.Cluster, error)) Lend {
	return func(ctx context.Context, _ *scenario.Scenario, cfg cluster.Config, use func(cluster.Cluster) error) (err error) {
		masters, err := start(ctx, cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, masters.Close()) }() // also if use panics
		return use(masters)
	}
}

// sweepWithin limits the time for sweeping with each driver other than the one that starts: its engine may
// hang, and the campaign does not need it.
const sweepWithin = 3 * time.Second

// Drivers are what a program can run masters and clients with. The zero value has simulated masters and the program's own
// clients alone.
type Drivers struct {
	Real     []Driver // of real masters, the preferred first
	InMemory *Driver  // of masters in memory that locks connect to (bubble.Driver); nil: none
	// Service starts the servers of a service. It is nil where programs cannot be stopped by signals.
	Service func(context.Context, cluster.Config, *spec.Service) (cluster.Cluster, error)
	// Existing connects to the servers at Config.At.
	Existing func(context.Context, cluster.Config) (cluster.Cluster, error)
	// Client starts a client that is a process. The client may have a method Hello, which returns its description of
	// itself.
	Client func(workload.Command, workload.Env) (workload.Lock, error)
	// ProgramClocks makes clocks for a client process that cannot change its own clock. The error explains why this
	// machine cannot.
	ProgramClocks func(context.Context) (workload.ProgramClocks, error)
}

// Sweep removes what dead harnesses have left behind with any driver, and lists it.
func (all *Drivers) Sweep(ctx context.Context) (removed []string, err error) {
	for _, d := range all.Real {
		gone, problem := d.Sweep(ctx)
		removed, err = append(removed, gone...), errors.Join(err, problem)
	}
	return removed, err
}

// Scratch makes a folder for files that are useless after this process has ended. If the process ends without
// calling remove, the next start of masters removes the folder.
func (all *Drivers) Scratch() (folder string, remove func() error, err error) {
	for _, d := range all.Real {
		if d.Scratch != nil {
			return d.Scratch()
		}
	}
	folder, err = os.MkdirTemp("", "lockpick-")
	return folder, func() error { return os.RemoveAll(folder) }, err
}

// Leftovers lists what Sweep would remove, and changes nothing.
func (all *Drivers) Leftovers(ctx context.Context) (found []string, err error) {
	for _, d := range all.Real {
		left, problem := d.Leftovers(ctx)
		found, err = append(found, left...), errors.Join(err, problem)
	}
	return found, err
}

// sweepOthers sweeps with all drivers except the one that starts, which sweeps by itself. It ignores errors.
func (all *Drivers) sweepOthers(ctx context.Context, starting string) (removed []string) {
	for _, d := range all.Real {
		if d.Name != starting {
			bounded, cancel := context.WithTimeout(ctx, sweepWithin)
			gone, _ := d.Sweep(bounded) // the next start removes what is left
			cancel()
			removed = append(removed, gone...)
		}
	}
	return removed
}

// Choose returns the driver with a name; auto selects the best available one. why names the driver and
// the reason in one line. If ctx ends meanwhile, the error is its cause.
func (all *Drivers) Choose(ctx context.Context, name string, want cluster.Software) (d Driver, why string, err error) {
	if name == scenario.Virtual {
		if all.InMemory == nil {
			return Driver{}, "", fmt.Errorf("the driver %s is not part of this program: choose another", name)
		}
		d = *all.InMemory
		_, why := d.Available(ctx, want)
		return d, fmt.Sprintf("driver %s: %s", d.Name, why), nil
	}
	reasons := ""
	for _, d := range append(slices.Clone(all.Real), Simulation{}.Driver()) {
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
	if want.Server != "" { // the user's own choice
		return Driver{}, "", &scenario.Problem{Field: "server", Says: fmt.Sprintf("%s cannot be the masters here%s. Install it, or give the path of a program that takes the settings of redis-server", want.Server, reasons)}
	}
	return Driver{}, "", fmt.Errorf("the driver %s is not available%s", name, reasons)
}

// noServerError says that a server of the user cannot be used, before anything was done to it.
type noServerError struct{ *scenario.Problem }

func (e noServerError) Unwrap() error { return e.Problem }

// of chooses the driver of a scenario.
func (all *Drivers) of(ctx context.Context, s *scenario.Scenario) (Driver, string, error) {
	switch {
	case len(s.At) > 0 && all.Existing == nil:
		return Driver{}, "", errors.New("this program cannot connect to Redis servers")
	case len(s.At) > 0:
		start := func(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
			c, err := all.Existing(ctx, cfg)
			if err != nil && ctx.Err() == nil { // it is the user who can mend a server
				err = noServerError{&scenario.Problem{Field: "at", Says: err.Error()}}
			}
			return c, err
		}
		return Driver{Name: fault.Existing, Lend: Starting(start), Scratch: all.Scratch}, fmt.Sprintf("driver %s: servers of your own", fault.Existing), nil
	case s.Service == nil:
		return all.Choose(ctx, s.Driver, s.Software())
	case all.Service == nil:
		return Driver{}, "", fmt.Errorf("this program cannot run servers of %s on this system", s.Service.Name)
	}
	start := func(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
		return all.Service(ctx, cfg, s.Service)
	}
	return Driver{Name: fault.Service, Lend: Starting(start), Scratch: all.Scratch}, fmt.Sprintf("driver %s: %s, as processes of %s", fault.Service, s.Service.Name, s.Service.Command[0]), nil
}
