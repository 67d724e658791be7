package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lockpick/cluster"
)

// lacking makes a program that is redis-server without something, and returns its path.
func lacking(t *testing.T, options string) string {
	if ok, why := Available(t.Context()); !ok {
		t.Skip(why)
	}
	server, err := exec.LookPath(defaultServer)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "other-server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec "+server+" \"$@\" "+options+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a server cannot do is found out at the start: without an append-only file there is no run with persistence always,
// without scripts it is said, and without MONITOR there is no account, with the reason.
func TestWhatAServerCannotDo(t *testing.T) {
	for name, c := range map[string]struct {
		options     string
		persistence cluster.Persistence
		refused     string // the error of the start
		said        string
		account     string // the error of the account
	}{
		"everything":          {persistence: cluster.Always},
		"no append-only file": {options: "--appendonly no", persistence: cluster.Always, refused: "append-only file"},
		"no scripts":          {options: `--rename-command EVAL ""`, persistence: cluster.None, said: "runs no Lua scripts", account: "EVAL"},
		"no MONITOR":          {options: `--rename-command MONITOR ""`, persistence: cluster.None, account: "MONITOR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var said strings.Builder
			masters, err := Start(t.Context(), cluster.Config{Masters: 1, Persistence: c.persistence, Server: lacking(t, c.options), KeepLeftovers: true, Progress: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(&said, format+"\n", args...)
			}})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("it was started: %v", err)
				}
				if err == nil {
					masters.Close()
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer masters.Close()
			if masters.Server() != "redis" || masters.Version() == "" {
				t.Errorf("the server is %s %s", masters.Server(), masters.Version())
			}
			mu.Lock()
			if text := said.String(); !strings.Contains(text, c.said) || c.said == "" && strings.Contains(text, "scripts") {
				t.Errorf("said:\n%s", text)
			}
			mu.Unlock()
			err = masters.(cluster.Accountable).Account(func(int, cluster.Executed) {})
			if (err != nil) != (c.account != "") || err != nil && !strings.Contains(err.Error(), c.account) {
				t.Errorf("the account: %v", err)
			}
		})
	}
}
