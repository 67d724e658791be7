package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/service/spec"
)

// mostRead limits what is read of an answer, in bytes.
const mostRead = 1 << 20

// ask sends a probe whose templates were rendered. It returns the answer if that matches.
func ask(ctx context.Context, probe spec.Probe) (string, error) {
	match, err := regexp.Compile(probe.Match)
	if err != nil {
		return "", err
	}
	var said string
	switch {
	case len(probe.Run) > 0:
		said, err = run(ctx, probe.Run)
	case probe.HTTP != "":
		said, err = get(ctx, probe)
	default:
		said, err = converse(ctx, probe, match)
	}
	if err == nil && !match.MatchString(said) {
		err = fmt.Errorf("the answer %q does not match %q", clip(said), probe.Match)
	}
	return said, err
}

// clip shortens an answer for an error.
func clip(said string) string {
	said = strings.TrimSpace(said)
	return said[:min(len(said), 200)]
}

// run runs a command and returns its output.
func run(ctx context.Context, command []string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return "", err
	}
	group := cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
	err := cmd.Wait()
	if stop(); ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command[0], err, clip(out.String()))
	}
	return out.String(), nil
}

// asker sends the requests of probes, each on a connection of its own.
var asker = &http.Client{Transport: &http.Transport{DialContext: dialOwn, DisableKeepAlives: true}}

// get sends a request by HTTP: a POST if it has a body.
func get(ctx context.Context, probe spec.Probe) (string, error) {
	method := http.MethodGet
	if probe.Send != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, probe.HTTP, strings.NewReader(probe.Send))
	if err != nil {
		return "", err
	}
	answer, err := asker.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostRead))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, clip(string(said)))
	}
	return string(said), err
}

// quiet is how long the other side of a connection may say nothing more before its answer is complete.
const quiet = 300 * time.Millisecond

// converse sends a text on a connection, and reads until the answer matches, the other side closes or is quiet.
func converse(ctx context.Context, probe spec.Probe, match *regexp.Regexp) (string, error) {
	c, err := cluster.DialOwn(ctx, probe.TCP)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	if _, err := io.WriteString(c, probe.Send); err != nil {
		return "", err
	}
	if probe.Match == "" && probe.Send == "" {
		return "", nil // a connection is all that was asked for
	}
	var said []byte
	buf := make([]byte, 4<<10)
	for len(said) < mostRead {
		n, err := c.Read(buf)
		said = append(said, buf[:n]...)
		if errors.Is(err, io.EOF) || probe.Match != "" && match.Match(said) || len(said) > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		_ = c.SetReadDeadline(time.Now().Add(quiet))
		if err != nil {
			return "", err
		}
	}
	return string(said), nil
}

func dialOwn(ctx context.Context, _, address string) (net.Conn, error) {
	return cluster.DialOwn(ctx, address)
}
