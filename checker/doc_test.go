package checker

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/history"
)

// example matches a short history in docs/checking.md.
var example = regexp.MustCompile("(?ms)^```history (\\S+)([^\n]*)\n(.*?)^```$")

// TestDocumentedHistoriesViolate checks that each history that docs/checking.md gives for a
// property violates it, and that every property that needs no long history has one.
func TestDocumentedHistoriesViolate(t *testing.T) {
	page, err := os.ReadFile("../docs/checking.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range example.FindAllStringSubmatch(string(page), -1) {
		name, options, text := m[1], m[2], m[3]
		documented[name] = true
		t.Run(name+options, func(t *testing.T) {
			header := history.Header{Masters: 5, Quorum: 3, TTL: 2 * time.Second, Driver: "sim", Fencing: strings.Contains(options, "fencing")}
			if strings.Contains(options, "fair") {
				header.Fair, header.Masters, header.Quorum = true, 1, 1
			}
			if _, value, ok := strings.Cut(options, "resource="); ok {
				header.Resource = value
			}
			if _, value, ok := strings.Cut(options, "kind="); ok {
				header.Kind = history.LockKind(strings.Fields(value)[0])
			}
			if _, value, ok := strings.Cut(options, "retry="); ok {
				header.Retry, _ = time.ParseDuration(value)
			}
			if _, value, ok := strings.Cut(options, "permits="); ok {
				header.Permits, _ = strconv.Atoi(strings.Fields(value)[0])
			}
			if _, value, ok := strings.Cut(options, "properties=("); ok {
				header.Properties = strings.Split(strings.TrimSuffix(strings.TrimSpace(value), ")"), ",")
			}
			h, err := parse(header, text)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(Properties, func(p Property) bool { return p.Name == name })
			if i < 0 {
				t.Fatalf("there is no property %q", name)
			}
			r := Check(h, Properties[i])
			if got := r.Result(Properties[i]); got == nil || got.Verdict != Violated {
				t.Errorf("the verdict is %+v", got)
			}
		})
	}
	// The histories of these properties fill more than a screen, with waits, snapshots and votes
	// over many seconds. The golden files have them.
	long := []string{"holder-loss", "minority-failure", "progress", "quorum-granted", "orphan-keys", "ghost-keys"}
	for _, p := range Properties {
		if !documented[p.Name] && !slices.Contains(long, p.Name) {
			t.Errorf("docs/checking.md gives no history that violates %s", p.Name)
		}
	}
}

// TestEachLevelAndPropertyHasAName: people read no level without a title, and no property by a name that says nothing.
func TestEachLevelAndPropertyHasAName(t *testing.T) {
	for _, l := range Levels() {
		if text := LevelNamed(l); text.Title == "" || text.Says == "" {
			t.Errorf("%s has no title", l)
		}
	}
	if len(LevelTexts) != len(Levels()) {
		t.Errorf("%d texts for %d levels", len(LevelTexts), len(Levels()))
	}
	leads := map[string]int{}
	for _, p := range Properties {
		if p.Leads {
			leads[p.Level]++
		}
	}
	for _, l := range Levels() {
		if l != NoLostUpdate.Level && leads[l] != 1 {
			t.Errorf("%d properties stand for %s, want 1", leads[l], l)
		}
	}
	seen := map[string]bool{}
	for _, p := range Properties {
		title := p.Words()
		if seen[title] {
			t.Errorf("two properties are called %s", title)
		}
		seen[title] = true
	}
}
