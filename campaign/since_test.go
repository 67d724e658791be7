package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// TestARunKnowsTheOneBefore: a run is compared with the last one before it of the same scenario, whatever its seed.
func TestARunKnowsTheOneBefore(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	add := func(name string, of scenario.Scenario) {
		dir := filepath.Join(s.Dir, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		yaml, err := of.YAML()
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{judge.ScenarioFile: yaml, judge.HistoryFile: []byte("{}\n")} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := judge.WriteResult(dir, &judge.Result{Run: name}); err != nil {
			t.Fatal(err)
		}
	}
	of, other := scenario.Defaults(), scenario.Defaults()
	other.Keys++
	add("20260101T000000-a", of)
	of.Seed = 2
	add("20260101T000001-a", of)
	add("20260101T000002-b", other)
	add("20260101T000003-a", of)
	of.Seed = 3
	if got := s.Since("20260101T000003-a", of, &judge.Result{}); got == nil || got.Run != "20260101T000001-a" {
		t.Errorf("it is compared with %+v", got)
	}
	if got := s.Since("20260101T000000-a", of, &judge.Result{}); got != nil {
		t.Errorf("the first run is compared with %+v", got)
	}
}
