package scenario

import (
	"os"
	"path/filepath"
	"testing"

	"lockpick/internal/inputs"
)

// FuzzScenario: no scenario makes the parser panic, and one that it takes is complete: it has
// no problems, and survives being written.
func FuzzScenario(f *testing.F) {
	for _, b := range scenarios(f) {
		f.Add(b)
	}
	f.Fuzz(checkScenario)
}

func checkScenario(t *testing.T, b []byte) {
	s, err := Parse(b)
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
	if _, err := Parse(text); err != nil {
		t.Fatalf("cannot be read again: %v\n%s", err, text)
	}
}

// scenarios are inputs that parsers have choked on, and one that is right.
func scenarios(t testing.TB) (all [][]byte) {
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files (%v)", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	d := Defaults()
	if b, err := d.YAML(); err == nil {
		all = append(all, b)
	}
	for _, s := range []string{"client_rate: 1e-300", "long_holds: .nan", "schedule: [{fault: kill, at: -1s}]", "ttl: 1s\nhold: -1s..2s", "? - ? -", "a: &a [*a]"} {
		all = append(all, []byte(s))
	}
	return all
}

// TestManyInputs is the same of many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzScenario", func(t *testing.T) {
		inputs.Try(t, "FuzzScenario", scenarios(t), checkScenario)
	})
}
