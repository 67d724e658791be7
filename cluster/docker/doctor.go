package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/ory/dockertest/v3/docker"

	"lockpick/cluster"
	"lockpick/cluster/process"
)

// Diagnosis is one fact about this host that decides what it can run.
type Diagnosis struct {
	What   string // "docker engine", "docker image", "redis-server", "other servers", "C compiler", "fault shim (process)", "fault shim (docker)"
	OK     bool
	Detail string // a description of the fact, or the problem and its remedy
}

// Doctor checks everything that the drivers need. It starts a master with each of them for a
// moment, to find out whether the fault shim works in it, and leaves only the shim in the
// user's cache. It does not remove the remains of other harnesses.
func Doctor(ctx context.Context) []Diagnosis {
	engine := Diagnosis{What: "docker engine"}
	image := Diagnosis{What: "docker image"}
	pool, version, err := connect(ctx)
	if err != nil {
		engine.Detail = err.Error()
		image.Detail = "no Docker engine to ask"
	} else {
		engine.OK, engine.Detail = true, fmt.Sprintf("version %s at %s", version, pool.Client.Endpoint())
		image.OK, image.Detail = imageAvailable(ctx, pool.Client, "")
	}
	server := Diagnosis{What: "redis-server"}
	server.OK, server.Detail = process.Available(ctx)
	return append([]Diagnosis{engine, image, server, otherServers(ctx)}, shimFindings(ctx, engine.OK, server.OK)...)
}

// otherServers lists the servers beside redis-server that --server may name. None is needed.
func otherServers(ctx context.Context) Diagnosis {
	var found, missing []string
	for _, program := range process.OtherServers {
		if ok, what := process.ServerAvailable(ctx, program); ok {
			found = append(found, what)
		} else {
			missing = append(missing, program)
		}
	}
	detail := "none"
	if len(found) > 0 {
		detail = strings.Join(found, ", ")
	}
	if len(missing) > 0 {
		detail += " (not here: " + strings.Join(missing, ", ") + ")"
	}
	return Diagnosis{What: "other servers", OK: true, Detail: detail}
}

// shimFindings reports whether clock faults, disk faults and power cuts are available.
func shimFindings(ctx context.Context, engine, server bool) []Diagnosis {
	cc := Diagnosis{What: "C compiler"}
	if command, err := process.Compiler(); err != nil {
		cc.Detail = process.OneLine(err)
	} else {
		cc.OK, cc.Detail = true, strings.Join(command, " ")
	}
	byProcess := Diagnosis{What: "fault shim (process)", Detail: "no redis-server to try it with"}
	byDocker := Diagnosis{What: "fault shim (docker)", Detail: "no Docker engine to try it with"}
	if object, err := process.ShimObject(ctx); err != nil {
		byProcess.Detail = process.OneLine(err)
		byDocker.Detail = process.OneLine(err)
	} else {
		if server {
			byProcess.OK, byProcess.Detail = tryShim(ctx, process.Start, object, cluster.Config{Masters: 1, KeepLeftovers: true})
		}
		if engine {
			byDocker.OK, byDocker.Detail = tryShimInImage(ctx, object)
		}
	}
	return []Diagnosis{cc, byProcess, byDocker}
}

// tryShim starts a master and reports whether the shim works in it.
func tryShim(ctx context.Context, start func(context.Context, cluster.Config) (cluster.Cluster, error), object string, cfg cluster.Config) (ok bool, detail string) {
	c, err := start(ctx, cfg)
	if err != nil {
		return false, process.OneLine(err)
	}
	version, shim := c.Server()+" "+c.Version(), c.Shim()
	switch err := c.Close(); {
	case shim != nil:
		return false, process.OneLine(shim)
	case err != nil:
		return false, process.OneLine(err)
	}
	return true, fmt.Sprintf("%s works with %s", object, version)
}

// tryShimInImage tries the shim only if the image is already local.
func tryShimInImage(ctx context.Context, object string) (ok bool, detail string) {
	pool, _, err := connect(ctx)
	if err != nil {
		return false, process.OneLine(err)
	}
	for _, ref := range []string{officialImage, builtImage} {
		if has, err := hasImage(pool.Client, ref); err == nil && has {
			ok, detail = tryShim(ctx, Start, object, cluster.Config{Masters: 1, Image: ref, KeepLeftovers: true})
			return ok, detail + " in " + ref
		}
	}
	return false, "no local image to try it with; build one: lockpick doctor --make-image"
}

// Available reports whether Docker is likely to work with this image (empty: the choice of
// DefaultImage), and why. It changes nothing. It contacts a registry only for an image that is
// not local and cannot be built.
func Available(ctx context.Context, image string) (ok bool, why string) {
	pool, version, err := connect(ctx)
	if err != nil {
		return false, err.Error()
	}
	ok, why = imageAvailable(ctx, pool.Client, image)
	return ok, fmt.Sprintf("Docker engine %s answers; %s", version, why)
}

// imageAvailable reports whether an image is local, or how it can be obtained.
func imageAvailable(ctx context.Context, client *docker.Client, image string) (ok bool, why string) {
	candidates := []string{image}
	if image == "" {
		candidates = []string{officialImage, builtImage}
	}
	for _, ref := range candidates {
		if has, err := hasImage(client, ref); err != nil {
			return false, err.Error()
		} else if has {
			return true, fmt.Sprintf("image %s is local", ref)
		}
	}
	if image == "" || image == builtImage {
		if server, err := process.ServerPath(""); err == nil {
			return true, fmt.Sprintf("image %s can be built from %s", builtImage, server)
		}
		image = officialImage
	}
	if err := canPull(ctx, image); err != nil {
		return false, fmt.Sprintf("image %s is not local and can not be pulled: %v; load one (docker load), or install redis-server to build one from: apt-get install redis-server", image, err)
	}
	return true, fmt.Sprintf("image %s can be pulled", image)
}
