package claims

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/internal/inputs"
)

// files reads the files that match a pattern.
func files(t testing.TB, pattern string) (all [][]byte) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// smallCatalogues cuts the built-in catalogue into catalogues of one or two claims and keeps the shortest ones that
// have all its fields. A mutation of a whole file takes fifty times as long, and changes mostly one claim, too.
func smallCatalogues(t testing.TB) (kept [][]byte) {
	var all []string
	missing := map[string]bool{}
	for _, file := range files(t, "catalogue/*.yaml") {
		const start = "\n  - id:"
		text := prose.ReplaceAllString(string(file), "|\n      Text.\n")
		title, claims, _ := strings.Cut(text, start)
		title = title[strings.Index(title, "title:"):]
		defines := map[string]string{}
		for claim := range strings.SplitSeq(claims, start) {
			all = append(all, title+start+claim+"\n")
			for _, anchor := range anchor.FindAllStringSubmatch(claim, -1) {
				defines[anchor[1]] = claim
			}
			for _, alias := range alias.FindAllStringSubmatch(claim, -1) { // with one other claim, which may be enough
				all = append(all, title+start+defines[alias[1]]+start+claim+"\n")
			}
		}
		for _, name := range constructs(text) {
			missing[name] = true
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(a) - len(b) })
	for _, text := range all {
		if _, err := Parse([]byte(text)); err != nil {
			continue // it uses anchors of other claims
		}
		before := len(missing)
		for _, name := range constructs(text) {
			delete(missing, name)
		}
		if len(missing) < before {
			kept = append(kept, []byte(text))
		}
	}
	if len(missing) > 0 {
		t.Fatalf("only claims that need several others have %v", missing)
	}
	return kept
}

var (
	prose     = regexp.MustCompile(`\|\n(?:      .*\n)+`)
	anchor    = regexp.MustCompile(` &([a-z0-9_-]+)`)
	alias     = regexp.MustCompile(` \*([a-z0-9_-]+)`)
	construct = regexp.MustCompile(`(?m)(?:^ *(?:- )?|[{,] ?)([a-z_]+):| ([&*])\w`)
)

// constructs lists a catalogue's fields, and whether it has anchors and aliases.
func constructs(catalogue string) (all []string) {
	for _, match := range construct.FindAllStringSubmatch(catalogue, -1) {
		all = append(all, match[1]+match[2])
	}
	return all
}

// seeds are inputs that parsers have choked on, and ones that are right.
func seeds(t testing.TB) (all [][]byte) {
	all = append(files(t, "../campaign/scenario/testdata/bad/*.yaml"), smallCatalogues(t)...)
	d := scenario.Defaults()
	if b, err := d.YAML(); err == nil {
		all = append(all, b)
	}
	for _, s := range []string{"client_rate: 1e-300", "long_holds: .nan", "schedule: [{fault: kill, at: -1s}]", "ttl: 1s\nhold: -1s..2s", "? - ? -", "a: &a [*a]"} {
		all = append(all, []byte(s))
	}
	return all
}

// FuzzCatalogue checks that no catalogue makes the parser panic.
func FuzzCatalogue(f *testing.F) {
	for _, b := range append(seeds(f), files(f, "catalogue/*.yaml")...) {
		f.Add(b)
	}
	f.Fuzz(checkCatalogue)
}

func checkCatalogue(t *testing.T, b []byte) {
	_, _ = Parse(b)
}

// TestManyInputs runs the fuzz test on many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzCatalogue", func(t *testing.T) {
		inputs.Try(t, "FuzzCatalogue", seeds(t), checkCatalogue)
	})
}

// TestBadFilesAreRefusedSoon checks that an invalid file of any size or nesting is refused with a
// short error and with little memory.
func TestBadFilesAreRefusedSoon(t *testing.T) {
	bomb, err := os.ReadFile("../campaign/scenario/testdata/bad/bomb.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crash, err := os.ReadFile("../campaign/scenario/testdata/bad/crash1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	many := func(s string) string { return strings.Repeat(s, 200<<10/len(s)) }
	deep := func() string {
		var b strings.Builder
		for i := range 600 {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	for _, c := range []struct{ name, text, says string }{
		{"alias bomb", string(bomb), "aliases"},
		{"tag on a list", string(crash), ""},
		{"tag and a line's end", "faults: !kill\n", "tags have no meaning"},
		{"tag", "faults: !kill", "tags have no meaning"},
		{"huge", strings.Repeat("# nothing\n", 1<<20), "larger than"},
		{"brackets", "faults: " + many("["), "nested"},
		{"braces", many("{a: "), "nested"},
		{"list items", many("- "), "nested"},
		{"keys", many("? "), "nested"},
		{"indentation", deep(), "nested"},
		{"long list", "faults: [" + many("x,") + "x]", ""},
		{"many fields", many("a: 1\n"), ""},
		{"quotes", "name: " + many("\""), ""},
		{"an alias of itself", "faults: &a [*a]", ""},
		{"NaN", "long_holds: .nan", "not a probability"},
		{"no rate", "client_rate: 1e-300", "out of range"},
		{"negative rate", "client_rate: -1", "out of range"},
		{"NaN rate", "client_rate: .nan", "out of range"},
		{"a rate in a clock", "clock: x1e-300", ""},
		{"a negative time", "schedule: [{fault: kill, masters: [m1], at: -1s}]", "out of range"},
		{"an endless time", "schedule: [{fault: pause, masters: [m1], for: 100000h}]", "out of range"},
		{"a step's rate", "schedule: [{fault: client-clock, clients: [c1], rate: 1e-300}]", "out of range"},
		{"a network's delay", "driver: sim\nnetwork: {late_by: -1s}", "out of range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, parse := range map[string]func([]byte) error{
				"scenario":  func(b []byte) error { _, err := scenario.Parse(b); return err },
				"catalogue": func(b []byte) error { _, err := Parse(b); return err },
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				err := parse([]byte(c.text))
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				if err == nil {
					t.Errorf("%s: taken", what)
				} else if what == "scenario" && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %.300v, want %q", what, err, c.says)
				} else if len(err.Error()) > 3000 {
					t.Errorf("%s: the error has %d characters", what, len(err.Error()))
				}
				if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
					t.Errorf("%s: allocated %d MB", what, mb)
				}
				t.Logf("%s: %v, %d KB", what, took, (after.TotalAlloc-before.TotalAlloc)>>10)
			}
		})
	}
}
