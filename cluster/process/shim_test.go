package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestABrokenCompilerIsQuoted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	broken := filepath.Join(t.TempDir(), "mycc")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho this compiler is tired\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", broken)
	if _, err := ShimObject(t.Context()); err == nil || !strings.Contains(err.Error(), "this compiler is tired") || !strings.Contains(err.Error(), broken) {
		t.Errorf("error: %v", err)
	}
	t.Setenv("CC", "no-such-compiler")
	if _, err := ShimObject(t.Context()); err == nil || !strings.Contains(err.Error(), "$CC") {
		t.Errorf("error: %v", err)
	}
}

func TestTheShimIsBuiltOnceByManyAtATime(t *testing.T) {
	if _, err := ShimObject(t.Context()); err != nil {
		t.Skip(err)
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	var builds sync.WaitGroup
	for range 4 {
		builds.Go(func() {
			if _, err := ShimObject(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	builds.Wait()
	for folder, want := range map[string]string{"": "shim-*.so", "run": lockFile} { // the folder of scratch folders is empty
		left, err := filepath.Glob(filepath.Join(cache, "lockpick", folder, "*"))
		left = slices.DeleteFunc(left, func(path string) bool { return filepath.Base(path) == "run" })
		if err != nil || len(left) != 1 {
			t.Fatalf("in the cache: %v, %v", left, err)
		}
		if ok, err := filepath.Match(want, filepath.Base(left[0])); !ok || err != nil {
			t.Errorf("in the cache is %s, want %s: %v", left[0], want, err)
		}
	}
	t.Setenv("PATH", "")
	if _, err := ShimObject(t.Context()); err != nil {
		t.Errorf("what is built needs no compiler: %v", err)
	}
}

// TestADamagedShimIsBuiltAnew: an object in the cache that is cut off, empty or changed in one byte is replaced by a
// whole one.
func TestADamagedShimIsBuiltAnew(t *testing.T) {
	if _, err := ShimObject(t.Context()); err != nil {
		t.Skip(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	object, err := ShimObject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(whole)
	changed[len(changed)/2] ^= 1
	for what, damaged := range map[string][]byte{"empty": nil, "cut off": whole[:len(whole)/2], "changed": changed} {
		if err := os.WriteFile(object, damaged, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := ShimObject(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if now, err := os.ReadFile(object); err != nil || !sealed(now) {
			t.Errorf("the shim that was %s was not built anew (%d bytes, %v)", what, len(now), err)
		}
	}
}
