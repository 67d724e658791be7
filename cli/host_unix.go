//go:build !windows

package cli

import (
	"context"
	"fmt"
	"io"

	"lockpick/cluster/docker"
	"lockpick/cluster/process"
	"lockpick/workload/remote"
)

var here machine = unix{}

// unix offers all drivers.
type unix struct{}

func (u unix) doctor(ctx context.Context, w io.Writer) {
	for _, f := range docker.Doctor(ctx) {
		mark := "ok"
		if !f.OK {
			mark = "MISSING"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.What, mark, f.Detail)
	}
	if ok, why := u.clocks(ctx); ok {
		fmt.Fprintf(w, "clocks of clients\tok\tof programs that load the C library when they start; not of static ones and those in Go\n")
	} else {
		fmt.Fprintf(w, "clocks of clients\tMISSING\t%s\n", why)
	}
}

func (unix) clocks(ctx context.Context) (ok bool, why string) {
	c, err := process.NewProgramClocks(ctx)
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		return false, process.OneLine(err)
	}
	return true, ""
}

func (unix) auto(ctx context.Context) string {
	if ok, _ := docker.Available(ctx, ""); ok {
		return "docker"
	}
	if ok, _ := process.Available(ctx); ok {
		return "process"
	}
	return "sim; for real masters start a Docker engine, or install redis-server"
}

func (unix) image(ctx context.Context) (ref, why string, err error) {
	return docker.DefaultImage(ctx)
}

func (unix) serveClient(in io.Reader, out io.Writer) error { return remote.Serve(in, out) }

func (unix) shim(ctx context.Context) (ok bool, why string) { return process.ShimAvailable(ctx) }
