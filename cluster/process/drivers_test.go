package process

import (
	"context"

	"lockpick/cluster"
)

// DockerDriver is the driver with containers, which is another package: it is set from there.
var DockerDriver struct {
	Start      func(context.Context, cluster.Config) (cluster.Cluster, error)
	Available  func(ctx context.Context, image string) (bool, string)
	Containers func(context.Context, cluster.Config) (cluster.Config, Build, error)
	Own        func(context.Context) ([]string, error)
	Sweep      func(context.Context) ([]string, error)
}
