package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var here machine = windows{}

// windows offers only simulated masters: the other drivers stop servers and clients with Unix signals.
type windows struct{}

const notOnWindows = "real masters and clients that are processes need Linux or macOS: use --driver sim, or run Lockpick in WSL"

func (windows) doctor(_ context.Context, w io.Writer) {
	fmt.Fprintf(w, "docker engine\tMISSING\t%s\n", notOnWindows)
	fmt.Fprintf(w, "redis-server\tMISSING\t%s\n", notOnWindows)
}

func (windows) auto(context.Context) string { return "sim; " + notOnWindows }

func (windows) image(context.Context) (ref, why string, err error) {
	return "", "", errors.New(notOnWindows)
}

func (windows) serveClient(io.Reader, io.Writer) error { return errors.New(notOnWindows) }

func (windows) clocks(context.Context) (ok bool, why string) { return false, notOnWindows }

func (windows) shim(context.Context) (ok bool, why string) { return false, notOnWindows }
