//go:build !windows

package realdrivers

import (
	"context"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/docker"
	"lockpick/cluster/existing"
	"lockpick/cluster/process"
	"lockpick/cluster/service"
	"lockpick/workload"
	"lockpick/workload/remote"
)

// dockerAvailable reports whether masters can run in containers. A server of this machine is not in the image that is chosen
// if none is named.
func dockerAvailable(ctx context.Context, want cluster.Software) (ok bool, why string) {
	if want.Server != "" && want.Image == "" {
		return false, "the server is a program of this machine: name an image that has it for masters in Docker"
	}
	return docker.Available(ctx, want.Image)
}

// All returns the drivers, the preferred first.
func All() campaign.Drivers {
	return campaign.Drivers{
		Real: []campaign.Driver{
			{Name: scenario.Docker, Lend: campaign.Starting(docker.Start), Available: dockerAvailable, Sweep: docker.Sweep, Leftovers: docker.Leftovers, Scratch: process.Scratch},
			{Name: scenario.Process, Lend: campaign.Starting(process.Start), Available: func(ctx context.Context, want cluster.Software) (bool, string) {
				return process.ServerAvailable(ctx, want.Server)
			}, Sweep: process.Sweep, Leftovers: func(context.Context) ([]string, error) { return process.Leftovers("process") }, Scratch: process.Scratch},
		},
		Client: func(command workload.Command, site workload.Env) (workload.Lock, error) {
			return remote.Start(command, site)
		},
		Service: service.Start, Existing: existing.Start,
		ProgramClocks: func(ctx context.Context) (workload.ProgramClocks, error) {
			c, err := process.NewProgramClocks(ctx)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
	}
}
