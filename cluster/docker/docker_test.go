package docker

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3/docker"
)

// inAMinute is a context for what must not take long.
func inAMinute(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAnEngineElsewhereIsRefused(t *testing.T) {
	for host, want := range map[string]string{
		"tcp://192.0.2.1:2375":        "another host",
		"unix:///nowhere/docker.sock": "DOCKER_HOST",
	} {
		t.Setenv("DOCKER_HOST", host)
		if ok, why := Available(t.Context(), ""); ok || !strings.Contains(why, want) {
			t.Errorf("%s: %v, %s", host, ok, why)
		}
		if _, err := Sweep(t.Context()); err != nil {
			t.Errorf("%s: a sweep needs no engine: %v", host, err)
		}
		if f := Doctor(t.Context()); len(f) != 7 || f[0].OK || f[1].OK {
			t.Errorf("%s: %+v", host, f)
		}
	}
}

func TestDoctorTellsOfTheShim(t *testing.T) {
	for _, f := range Doctor(inAMinute(t)) {
		t.Logf("%s: %v, %s", f.What, f.OK, f.Detail)
		if f.Detail == "" || strings.Contains(f.Detail, "\n") {
			t.Errorf("%s: %q", f.What, f.Detail)
		}
	}
	if own, err := OwnContainers(t.Context()); err != nil || len(own) > 0 {
		t.Errorf("left behind: %v, %v", own, err)
	}
	t.Setenv("CC", "")
	t.Setenv("PATH", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	found := Doctor(inAMinute(t))
	for _, f := range found[3:] {
		if f.OK && f.What != "other servers" { // there may be none
			t.Errorf("%s without a compiler: %s", f.What, f.Detail)
		}
	}
}

func TestLDDIsRead(t *testing.T) {
	got, err := parseLDD(`	linux-vdso.so.1 (0x00007ffc)
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f12)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f12)
	/lib64/ld-linux-x86-64.so.2 (0x00007f1d)
`)
	want := []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("glibc: %v, %v", got, err)
	}
	got, err = parseLDD("\t/lib/ld-musl-x86_64.so.1 (0x7f)\n\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f)\n")
	if err != nil || len(got) != 1 {
		t.Errorf("musl: %v, %v", got, err)
	}
	if _, err := parseLDD("\tlibx.so.1 => not found\n"); err == nil || !strings.Contains(err.Error(), "libx.so.1") {
		t.Errorf("a missing library: %v", err)
	}
}

func TestAnImageNeedsARedisToBuildItFrom(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := imageFiles(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error: %v", err)
	}
}

// TestServerOfAnImage: the entry point of an image is not used, and may be anything. What it starts is the server.
func TestServerOfAnImage(t *testing.T) {
	for want, c := range map[string]docker.Config{
		"redis-server":           {Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"redis-server"}},
		"valkey-server":          {Entrypoint: []string{"docker-entrypoint.sh"}, Cmd: []string{"valkey-server"}},
		"/usr/bin/redict-server": {Entrypoint: []string{"/usr/bin/redict-server"}, Cmd: []string{"/etc/redict.conf"}},
		"keydb-server":           {Cmd: []string{"sh", "-c", "exec keydb-server --save ''"}},
		"":                       {Entrypoint: []string{"entrypoint.sh"}, Cmd: []string{"dragonfly", "--logtostderr"}},
	} {
		got, err := serverIn(&c, "image")
		if got != want || (err != nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "--server") {
			t.Errorf("%q %q: %q, %v, want %q", c.Entrypoint, c.Cmd, got, err, want)
		}
	}
}
