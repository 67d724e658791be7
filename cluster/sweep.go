package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ory/dockertest/v3/docker"
)

// Sweep removes what harnesses that no longer live left behind on this host:
// containers, servers and data directories. It says what it removed. It leaves
// alone what belongs to a living harness, and what may belong to one that can
// not be judged from here: on another host, or in another pid namespace.
//
// Docker and Process sweep for their own driver before they start anything. A
// host without a Docker engine has no containers to remove; that is no error.
func Sweep(ctx context.Context) (removed []string, err error) {
	removed, err = sweepProcesses()
	pool, _, absent := connect(ctx)
	if absent != nil {
		return removed, err
	}
	containers, cerr := sweepContainers(ctx, pool.Client)
	return slices.Concat(removed, containers), errors.Join(err, cerr)
}

// sweepProcesses removes what the process driver of dead harnesses left behind.
func sweepProcesses() (removed []string, err error) {
	var errs []error
	for _, root := range orphans("process") {
		notes, _ := filepath.Glob(filepath.Join(root, "*"+pidSuffix))
		for _, note := range notes {
			id, err := endNoted(note)
			if err != nil {
				errs = append(errs, err)
			} else if id != "" {
				removed = append(removed, "process "+id)
			}
		}
		if err := removeRoot(root); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, root)
	}
	return removed, errors.Join(errs...)
}

// endNoted kills the server whose identity a file notes, if it is still that one.
func endNoted(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", nil // another sweep was faster
	}
	id, err := parseIdentity(string(b))
	if err != nil || id.start == "0" || !id.alive() {
		return "", nil
	}
	if err := syscall.Kill(-id.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return "", fmt.Errorf("kill the server %d that a dead harness left: %w", id.pid, err)
	}
	for began := time.Now(); id.alive() && time.Since(began) < 2*time.Second; {
		time.Sleep(time.Millisecond)
	}
	return id.String(), nil
}

// orphans lists the data directories whose harness no longer lives.
func orphans(driver string) []string {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		return nil
	}
	var dead []string
	for _, e := range entries {
		if owner, ok := rootOwner(driver, e.Name()); ok && e.IsDir() && !owner.alive() {
			dead = append(dead, filepath.Join(os.TempDir(), e.Name()))
		}
	}
	return dead
}

// sweepWithin is how long the removal of one container of a dead harness may take.
const sweepWithin = 10 * time.Second

// sweepContainers removes what the docker driver of dead harnesses left behind.
func sweepContainers(ctx context.Context, client *docker.Client) (removed []string, err error) {
	all, err := client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {ourLabel + "=1", placeLabel + "=" + place()}},
		Context: ctx,
	})
	if err != nil {
		return nil, fmt.Errorf("list the containers of dead harnesses: %w", err)
	}
	var errs []error
	var dead []docker.APIContainers
	for _, c := range all {
		if owner, err := parseIdentity(c.Labels[ownerLabel]); err == nil && !owner.alive() {
			dead = append(dead, c)
		}
	}
	// All at once, and each within a bound: an engine may never answer for a container whose
	// processes were killed behind its back.
	failed := make([]error, len(dead))
	var removing sync.WaitGroup
	for i, c := range dead {
		removing.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, sweepWithin)
			defer cancel()
			failed[i] = removeContainer(ctx, client, c.ID)
		})
	}
	removing.Wait()
	for i, c := range dead {
		if failed[i] != nil {
			errs = append(errs, failed[i])
			continue
		}
		name := c.ID[:min(12, len(c.ID))]
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		removed = append(removed, "container "+name)
	}
	for _, root := range orphans("docker") { // after the servers that write there
		if err := removeRoot(root); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, root)
	}
	return removed, errors.Join(errs...)
}
