package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3/docker"

	"lockpick/cluster/process"
)

// Sweep removes the remains of the docker driver of this user's dead harnesses on this host:
// containers, and the data of their masters. It returns a list of what it removed. It does not
// touch anything of a living harness, nor of a harness whose state is unknown here: of another
// user, on another host, or in another pid namespace. A host without a Docker engine has no
// containers to remove, which is not an error.
func Sweep(ctx context.Context) (removed []string, err error) {
	pool, _, absent := connect(ctx)
	if absent != nil {
		return nil, nil
	}
	return sweepContainers(ctx, pool.Client)
}

// Leftovers lists everything that Sweep would remove, and changes nothing.
func Leftovers(ctx context.Context) ([]string, error) {
	var all []string
	if pool, _, absent := connect(ctx); absent == nil {
		dead, err := deadContainers(ctx, pool.Client)
		if err != nil {
			return nil, err
		}
		for _, c := range dead {
			all = append(all, "container "+nameOf(c))
		}
	}
	roots, err := process.Leftovers("docker")
	return append(all, roots...), err
}

// sweepWithin limits the time for removing one container of a dead harness.
const sweepWithin = 10 * time.Second

// deadContainers lists the containers of this user's dead harnesses.
func deadContainers(ctx context.Context, client *docker.Client) ([]docker.APIContainers, error) {
	all, err := client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {ourLabel + "=1", placeLabel + "=" + process.Place(), userLabel + "=" + strconv.Itoa(os.Getuid())}},
		Context: ctx,
	})
	if err != nil {
		return nil, fmt.Errorf("list the containers of dead harnesses: %w", err)
	}
	return slices.DeleteFunc(all, func(c docker.APIContainers) bool {
		owner, err := process.ParseIdentity(c.Labels[ownerLabel])
		return err != nil || owner.Alive()
	}), nil
}

// nameOf returns a container's name as docker ps shows it.
func nameOf(c docker.APIContainers) string {
	if len(c.Names) > 0 {
		return strings.TrimPrefix(c.Names[0], "/")
	}
	return c.ID[:min(12, len(c.ID))]
}

// sweepContainers removes the containers and the data of dead harnesses.
func sweepContainers(ctx context.Context, client *docker.Client) (removed []string, err error) {
	dead, err := deadContainers(ctx, client)
	if err != nil {
		return nil, err
	}
	var errs []error
	// Remove all at the same time, and each with a timeout: an engine may never answer for a
	// container whose processes another program has killed.
	gone, failed := make([]bool, len(dead)), make([]error, len(dead))
	var removing sync.WaitGroup
	for i, c := range dead {
		removing.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, sweepWithin)
			defer cancel()
			gone[i], failed[i] = removeContainer(ctx, client, c.ID)
		})
	}
	removing.Wait()
	for i, c := range dead {
		if failed[i] != nil {
			errs = append(errs, failed[i])
		} else if gone[i] { // otherwise another program has removed it, or the engine lists what it does not have
			removed = append(removed, "container "+nameOf(c))
		}
	}
	roots, err := process.RemoveDead("docker") // after the servers that write into them
	return append(removed, roots...), errors.Join(append(errs, err)...)
}
