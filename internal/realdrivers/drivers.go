//go:build !windows

package realdrivers

import (
	"context"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster/docker"
	"lockpick/cluster/process"
	"lockpick/cluster/service"
	"lockpick/workload"
	"lockpick/workload/remote"
)

func init() {
	campaign.RealDrivers = []campaign.Driver{
		{Name: scenario.Docker, Start: docker.Start, Available: docker.Available, Sweep: docker.Sweep, Leftovers: docker.Leftovers, Scratch: process.Scratch},
		{Name: scenario.Process, Start: process.Start, Available: func(ctx context.Context, _ string) (bool, string) { return process.Available(ctx) },
			Sweep: process.Sweep, Leftovers: func(context.Context) ([]string, error) { return process.Leftovers("process") }, Scratch: process.Scratch},
	}
	campaign.StartClient = func(command workload.Command, site workload.Env) (workload.Lock, error) {
		return remote.Start(command, site)
	}
	campaign.StartService = service.Start
	campaign.ProgramClocks = func(ctx context.Context) (workload.ProgramClocks, error) {
		c, err := process.NewProgramClocks(ctx)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}
