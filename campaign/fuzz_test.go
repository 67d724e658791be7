package campaign

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzScenario: no scenario makes the parser panic, and one that it takes is complete: it has
// no problems, and survives being written.
func FuzzScenario(f *testing.F) {
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no files (%v)", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	d := Defaults()
	if b, err := d.YAML(); err == nil {
		f.Add(b)
	}
	for _, s := range []string{"client_rate: 1e-300", "long_holds: .nan", "schedule: [{fault: kill, at: -1s}]", "ttl: 1s\nhold: -1s..2s", "? - ? -", "a: &a [*a]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseScenario(b)
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatalf("taken, and yet: %v", err)
		}
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseScenario(text); err != nil {
			t.Fatalf("cannot be read again: %v\n%s", err, text)
		}
	})
}
