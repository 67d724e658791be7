//go:build real

package process_test

import (
	"lockpick/cluster/docker"
	"lockpick/cluster/process"
)

func init() {
	d := &process.DockerDriver
	d.Start, d.Available, d.Containers, d.Own, d.Sweep = docker.Start, docker.Available, docker.Containers, docker.OwnContainers, docker.Sweep
}
