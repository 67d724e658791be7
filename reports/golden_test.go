package reports

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/reports/story"
	"lockpick/reports/term"
	"lockpick/search"
)

// TestGolden compares what people and scripts read with testdata/. After a
// change that is meant, run it with -rewrite and read the difference.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") {
			t.Skip("what property tests failed on")
		}
		if filepath.Ext(path) != ".txt" && filepath.Ext(path) != "" {
			return // pictures, of TestScreens
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b bytes.Buffer
			switch d.Cmd {
			case "lanes":
				header := history.Header{Masters: 1, Persistence: "none"}
				var ttl string
				d.MaybeScanArgs(t, "persistence", &header.Persistence)
				d.MaybeScanArgs(t, "masters", &header.Masters)
				d.ScanArgs(t, "ttl", &ttl)
				header.TTL = seconds(t, ttl)
				return tellLanes(timelineOf(parsed(t, header, d.Input)))
			case "story":
				return tellStory(t, d)
			case "terminal":
				h, r := ranPlan(t, d)
				var opt term.Options
				d.MaybeScanArgs(t, "width", &opt.Width)
				opt.Color, opt.Verbose = d.HasArg("color"), d.HasArg("verbose")
				if err := Terminal(&b, h, r, opt); err != nil {
					return err.Error()
				}
				return strings.ReplaceAll(b.String(), "\x1b", "ESC")
			case "explored":
				return explored(t, d.HasArg("json"), d.HasArg("nothing"))
			case "replayed":
				var r search.ReplayResult
				d.MaybeScanArgs(t, "attempts", &r.Attempts)
				d.MaybeScanArgs(t, "reproduced", &r.Reproduced)
				r.Driver = scenario.Process
				if err := Replayed(&b, &r); err != nil {
					return err.Error()
				}
				return b.String()
			case "json":
				_, r := ranPlan(t, d)
				if err := JSON(&b, r); err != nil {
					return err.Error()
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// ranPlan runs the plan that a golden file names.
func ranPlan(t *testing.T, d *datadriven.TestData) (*history.History, *judge.Result) {
	var name string
	d.ScanArgs(t, "run", &name)
	switch name {
	case "violated":
		return synthesize(violatedPlan())
	case "sound":
		return synthesize(soundPlan())
	case "hostile":
		return synthesize(hostilePlan())
	case "nothing":
		return &history.History{}, &judge.Result{Name: "nothing", Notes: []string{"interrupted before the first operation"}}
	}
	d.Fatalf(t, "unknown run %q", name)
	return nil, nil
}

// tellStory tells the first violation of a history, or of a level, as a story and as a
// diagram.
func tellStory(t *testing.T, d *datadriven.TestData) string {
	header := history.Header{Masters: 3, Persistence: "none", TTL: 2 * time.Second}
	var h *history.History
	if d.HasArg("simulate") {
		s, err := scenario.Parse([]byte(d.Input))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if h, err = campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{}); err != nil {
			d.Fatalf(t, "%v", err)
		}
	} else {
		d.MaybeScanArgs(t, "masters", &header.Masters)
		d.MaybeScanArgs(t, "persistence", &header.Persistence)
		header.Quorum = header.Masters/2 + 1
		d.MaybeScanArgs(t, "quorum", &header.Quorum)
		h = parsed(t, header, d.Input)
	}
	level, width := "L2", 100
	d.MaybeScanArgs(t, "level", &level)
	d.MaybeScanArgs(t, "width", &width)
	for _, r := range checker.Check(h).Results {
		if r.Level != level || len(r.Violations) == 0 {
			continue
		}
		return story.Prose(&r.Violations[0], width) + "\n" + story.Diagram(&r.Violations[0], width)
	}
	return "no violation of " + level + "\n"
}
