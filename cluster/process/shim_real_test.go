//go:build real

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
)

// shimmed starts a single master for a fault of the shim, or skips the test.
func shimmed(t *testing.T, driver string, cfg cluster.Config) (*group, *master) {
	t.Helper()
	cfg.Masters = 1
	g := start(t, driver, cfg)
	if err := g.Shim(); err != nil {
		t.Skip(err)
	}
	return g, g.masters[0]
}

// Without a compiler there is no shim, and everything else works.
func TestWithoutACompilerTheReasonIsGivenAndAllElseWorks(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		server, err := ServerPath("")
		if err != nil {
			t.Skip(err)
		}
		bin := t.TempDir()
		if err := os.Symlink(server, filepath.Join(bin, "redis-server")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CC", "")
		t.Setenv("PATH", bin)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		var said []string
		g := start(t, driver, cluster.Config{Masters: 1, Persistence: cluster.Always, Progress: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }})
		if err := g.Shim(); err == nil || !strings.Contains(err.Error(), "apt-get install gcc") {
			t.Errorf("the reason is %v", err)
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, "no C compiler") && !strings.Contains(all, "find a C compiler") {
			t.Errorf("it said %s", all)
		}
		m, ctx := g.masters[0], within(t, time.Minute)
		_, cut := m.CutPower(ctx, cluster.Power{})
		for what, err := range map[string]error{
			"clock": m.SetClock(ctx, cluster.Clock{Offset: time.Second}),
			"disk":  m.SetDisk(ctx, cluster.Disk{Full: true}),
			"cut":   cut,
		} {
			if !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install gcc") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := errors.Join(m.SetClock(ctx, cluster.Clock{}), m.SetDisk(ctx, cluster.Disk{})); err != nil {
			t.Errorf("to heal what can not be hurt: %v", err)
		}
		if m.State() != cluster.Up {
			t.Fatal("a power cut that is not possible killed it")
		}
		set(t, direct(t, m.now()), "a", "1")
		must(t, m.Kill, m.Start)
		if _, ok := stored(t, m, "a"); !ok {
			t.Error("what was stored is lost")
		}
	})
}

// A server that the shim is not at work in says so, and one that does not come up
// with it comes up without.
func TestAServerThatTheShimDoesNotWorkIn(t *testing.T) {
	needs(t, "process")
	server, err := ServerPath("")
	if err != nil {
		t.Skip(err)
	}
	if _, err := ShimObject(t.Context()); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct{ script, want string }{
		"ignores it": {"#!/bin/sh\nunset LD_PRELOAD\nexec " + server + ` "$@"` + "\n", "past it"}, // the shell loads it,
		"dies of it": {"#!/bin/sh\n[ -z \"$LD_PRELOAD\" ] || { echo no preloading here; exit 1; }\nexec " + server + ` "$@"` + "\n", "no preloading here"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "redis-server"), []byte(c.script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			g := start(t, "process", cluster.Config{Masters: 2})
			if err := g.Shim(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the reason is %v", err)
			}
			must(t, g.masters[0].Kill, g.masters[0].Start)
			set(t, direct(t, g.masters[0].now()), "a", "1")
		})
	}
}
