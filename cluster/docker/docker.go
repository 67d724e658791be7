package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"lockpick/cluster"
	"lockpick/cluster/process"
)

// Start starts masters in containers of the Docker engine that DOCKER_HOST names, or of this
// host. The containers have labels with their owner; see Sweep.
func Start(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	cfg, containers, err := Containers(ctx, cfg)
	if err != nil {
		return nil, err
	}
	shim, why := process.ShimObject(ctx)
	return process.Open(ctx, cfg, "docker", containers, shim, why, func() {})
}

// Containers finds a Docker engine and an image, and returns the function that makes containers
// of that image, with the completed configuration. Before that, it removes the remains of dead
// harnesses.
func Containers(ctx context.Context, cfg cluster.Config) (cluster.Config, process.Build, error) {
	cfg, flags, err := process.CompleteConfig(cfg)
	if err != nil {
		return cfg, nil, err
	}
	pool, _, err := connect(ctx)
	if err != nil {
		return cfg, nil, err
	}
	if !cfg.KeepLeftovers {
		if _, err := sweepContainers(ctx, pool.Client); err != nil {
			cfg.Progress("leftovers of dead harnesses could not be removed: %v", err)
		}
	}
	if cfg.Image == "" {
		ref, why, err := defaultImage(ctx, pool.Client, cfg.Progress)
		if err != nil {
			return cfg, nil, err
		}
		cfg.Image = ref
		cfg.Progress("image %s: %s", ref, why)
	}
	image, err := haveImage(ctx, pool.Client, cfg.Image, cfg.Progress)
	if err != nil {
		return cfg, nil, err
	}
	if cfg.Server == "" {
		if cfg.Server, err = serverIn(image.Config, cfg.Image); err != nil {
			return cfg, nil, err
		}
	}
	return cfg, containers(pool, image.ID, cfg.Server, flags), nil
}

func containers(pool *dockertest.Pool, image, server string, flags []string) process.Build {
	return func(at process.Site) process.Engine {
		return &container{Site: at, pool: pool, image: image, server: server, flags: flags}
	}
}

// These are the labels of a container. Images that were built here have imageLabel.
const (
	ourLabel    = "lockpick"        // "1"
	ownerLabel  = "lockpick.owner"  // <pid>@<start time> of the harness
	placeLabel  = "lockpick.host"   // the host and the pid namespace in which that pid is valid
	userLabel   = "lockpick.user"   // the harness's user id: a harness removes only containers of its own user
	masterLabel = "lockpick.master" // m1, m2, …
	imageLabel  = "lockpick.image"  // hash of the content
)

// These are the port and the paths inside a container.
const (
	insidePort = "6379"
	insideHome = "/lockpick"
	insideData = insideHome + "/data"
	insideShim = "/lockpick.so"
	insideLog  = "/master.log"
)

// callWithin limits every call to the engine but the ones that get an image, so that a hanging
// engine does not make the harness hang. A call that waits for a container's end is repeated.
const callWithin = 45 * time.Second

// engineWithin limits the time in which an engine must answer.
const engineWithin = 10 * time.Second

// connect finds a Docker engine on this host that answers, and returns its version.
func connect(ctx context.Context) (*dockertest.Pool, string, error) {
	pool, err := dockertest.NewPool("")
	if err != nil {
		return nil, "", fmt.Errorf("find a Docker engine: %w; check DOCKER_HOST", err)
	}
	at := pool.Client.Endpoint()
	// The masters' ports and files must be on this host.
	if u, err := url.Parse(at); err == nil && u.Scheme != "unix" && u.Scheme != "npipe" {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, "", fmt.Errorf("the Docker engine at %s runs on another host, where the masters' ports and files would be out of reach; use one on this host, or the process driver", at)
		}
	}
	ping, cancel := context.WithTimeout(ctx, engineWithin)
	defer cancel()
	if err := pool.Client.PingWithContext(ping); err != nil {
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case errors.Is(err, os.ErrPermission):
			err = fmt.Errorf("%w; join the group of that socket (docker), or run as root", err)
		default:
			err = fmt.Errorf("%w; start Docker, or say with DOCKER_HOST where it is", err)
		}
		return nil, "", fmt.Errorf("ask the Docker engine at %s: %w", at, err)
	}
	// An engine whose networks are stuck tells its version, and never starts or ends a container. It
	// looks at them to describe itself.
	pool.Client.SetTimeout(engineWithin)
	info, err := pool.Client.Info()
	pool.Client.SetTimeout(callWithin)
	if err != nil {
		return nil, "", fmt.Errorf("ask the Docker engine at %s what it is: %w; it may be stuck: restart it", at, err)
	}
	return pool, info.ServerVersion, nil
}

// container is the engine of a master that runs in a container.
type container struct {
	process.Site
	pool   *dockertest.Pool
	image  string // its id, because its name may later refer to another image
	server string // the program in the image
	flags  []string

	id      string // empty until the container was created
	waiters sync.WaitGroup
	forget  context.CancelFunc // cancels the wait for the end of the last start
}

// named returns the container's name, which is determined before the container exists.
func (c *container) named() string {
	return fmt.Sprintf("lockpick-%d-%d-%s", process.Self().Pid, c.Port, c.Name)
}

func (c *container) Launch(ctx context.Context) (<-chan struct{}, error) {
	if err := c.run(ctx); err != nil {
		var api *docker.Error
		if errors.As(err, &api) && (strings.Contains(api.Message, "port is already allocated") || strings.Contains(api.Message, "address already in use")) {
			err = fmt.Errorf("%w: %w", process.ErrPortTaken, err)
		}
		return nil, err
	}
	if c.forget != nil {
		c.forget()
	}
	exited := make(chan struct{})
	wait, forget := context.WithCancel(context.Background())
	c.forget = forget
	c.waiters.Go(func() {
		defer close(exited)
		c.awaitExit(wait)
	})
	return exited, nil
}

// run starts the container, after creating it if there is none.
func (c *container) run(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// From here on the start is not cancelled: the engine would continue, and the server would
	// run although it counts as down.
	if c.id != "" {
		if err := c.pool.Client.StartContainer(c.id, nil); err != nil {
			return fmt.Errorf("start container %s: %w", c.named(), err)
		}
		return nil
	}
	repository, tag, _ := strings.Cut(c.image, ":")
	bind, port := "0.0.0.0", insidePort
	if c.Replicated {
		bind, port = "127.0.0.1", strconv.Itoa(c.Port)
	}
	mounts := []docker.HostMount{ // unlike in Binds, these paths may contain colons
		{Type: "bind", Source: c.Home, Target: insideHome},
		{Type: "bind", Source: c.Site.Log, Target: insideLog},
	}
	var env []string
	if c.Shim != "" {
		mounts = append(mounts, docker.HostMount{Type: "bind", Source: c.Shim, Target: insideShim, ReadOnly: true})
		env = process.Environment(insideShim, insideHome+"/shim", insideData, "")
	}
	resource, err := c.pool.RunWithOptions(&dockertest.RunOptions{
		Name:       c.named(),
		Repository: repository,
		Tag:        tag,
		// Do not use the image's entry point: that of the official image changes the owner of
		// the data and switches to another user if it is started as root.
		Entrypoint: []string{c.server},
		Cmd: append([]string{
			insideHome + "/" + process.Settings,
			"--bind", bind, "--port", port, "--protected-mode", "no",
			"--daemonize", "no", "--dir", insideData, "--logfile", insideLog,
		}, c.flags...),
		Env:          env,
		WorkingDir:   insideData,
		ExposedPorts: []string{insidePort + "/tcp"},
		PortBindings: map[docker.Port][]docker.PortBinding{
			insidePort + "/tcp": {{HostIP: "127.0.0.1", HostPort: strconv.Itoa(c.Port)}},
		},
		// Run as the caller's user, who must remove the data and may have to cut it.
		User: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
		Labels: map[string]string{
			ourLabel:    "1",
			ownerLabel:  process.Self().String(),
			placeLabel:  process.Place(),
			userLabel:   strconv.Itoa(os.Getuid()),
			masterLabel: c.Name,
		},
	}, func(h *docker.HostConfig) {
		h.AutoRemove = false
		h.RestartPolicy = docker.NeverRestart()
		h.PublishAllPorts = false
		h.Mounts = mounts
		// A server only writes into its mounts, and needs no privileges.
		h.ReadonlyRootfs, h.CapDrop, h.SecurityOpt = true, []string{"ALL"}, []string{"no-new-privileges"}
		if c.Replicated {
			// Use the host's network, where a replica reaches its master through a link. The
			// ports of a container there cannot be mapped.
			h.NetworkMode, h.PortBindings = "host", nil
		}
	})
	if err != nil {
		err = fmt.Errorf("run %s in container %s: %w", c.image, c.named(), err)
		if rerr := c.removeContainer(c.named()); rerr != nil { // the container may have been created and not started
			err = errors.Join(err, rerr)
		}
		return err
	}
	c.id = resource.Container.ID
	return nil
}

// awaitExit returns when the container does not run, or ctx has ended.
func (c *container) awaitExit(ctx context.Context) {
	for {
		_, err := c.pool.Client.WaitContainerWithContext(c.id, ctx)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*docker.NoSuchContainer)) {
			return
		}
		// The engine has closed the connection: it may be restarting.
		if !process.Sleep(ctx, 100*time.Millisecond) {
			return
		}
	}
}

func (c *container) Pause(context.Context) error {
	if err := c.pool.Client.PauseContainer(c.id); err != nil {
		return fmt.Errorf("pause container %s: %w", c.named(), err)
	}
	return nil
}

func (c *container) Resume(context.Context) error {
	if err := c.pool.Client.UnpauseContainer(c.id); err != nil {
		return fmt.Errorf("unpause container %s: %w", c.named(), err)
	}
	return nil
}

// Kill also ends a paused container before its server executes anything: the engine sends
// SIGKILL first and thaws the container then.
func (c *container) Kill(ctx context.Context) error { return c.signal(ctx, docker.SIGKILL) }

func (c *container) Terminate(ctx context.Context) error { return c.signal(ctx, docker.SIGTERM) }

func (c *container) signal(ctx context.Context, s docker.Signal) error {
	err := c.pool.Client.KillContainer(docker.KillContainerOptions{ID: c.id, Signal: s, Context: ctx})
	if err != nil && !errors.As(err, new(*docker.ContainerNotRunning)) && !errors.As(err, new(*docker.NoSuchContainer)) {
		return fmt.Errorf("send signal %d to container %s: %w", s, c.named(), err)
	}
	return nil
}

// Owns needs no check if the engine maps the port to this container only. In the host's
// network, it checks that the server was started by a container.
func (c *container) Owns(s process.ServerInfo) bool { return !c.Replicated || s.Pid == 1 }

// Complaint returns the output of the container outside of the server's log, for example that
// the program could not be loaded.
func (c *container) Complaint() string {
	if c.id == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineWithin)
	defer cancel()
	var out strings.Builder
	err := c.pool.Client.Logs(docker.LogsOptions{
		Context: ctx, Container: c.id, OutputStream: &out, ErrorStream: &out,
		Stdout: true, Stderr: true, Tail: "20",
	})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

func (c *container) Remove() error {
	if c.id == "" {
		return nil // run has removed the container that it could not start
	}
	err := c.removeContainer(c.id)
	c.forget()
	c.waiters.Wait()
	return err
}

func (c *container) removeContainer(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), process.EndWithin)
	defer cancel()
	_, err := removeContainer(ctx, c.pool.Client, id)
	return err
}

// removeContainer removes a container, whatever its state, and its volumes. It returns whether
// the engine has removed it, and no error if the engine knows no such container.
func removeContainer(ctx context.Context, client *docker.Client, id string) (removed bool, err error) {
	for {
		err := client.RemoveContainer(docker.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true, Context: ctx})
		if err == nil || errors.As(err, new(*docker.NoSuchContainer)) {
			return err == nil, nil
		}
		var api *docker.Error
		if errors.As(err, &api) && strings.Contains(api.Message, "already in progress") && process.Sleep(ctx, 20*time.Millisecond) {
			continue // another process is removing it: wait for that
		}
		return false, fmt.Errorf("remove container %s: %w; try: docker rm -f %s", id, err, id)
	}
}

// OwnContainers lists the containers of this process; without a Docker engine there are none.
func OwnContainers(ctx context.Context) (names []string, err error) {
	pool, _, absent := connect(ctx)
	if absent != nil {
		return nil, nil
	}
	all, err := pool.Client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {ownerLabel + "=" + process.Self().String()}},
		Context: ctx,
	})
	if err != nil {
		return nil, fmt.Errorf("list the containers of this process: %w", err)
	}
	for _, c := range all {
		names = append(names, c.Names...)
	}
	return names, nil
}
