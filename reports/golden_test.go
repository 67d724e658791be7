package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign"
	"lockpick/history"
)

// TestGolden compares what people and scripts read with testdata/. After a
// change that is meant, run it with -rewrite and read the difference.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
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
				return tellLanes(timelineOf(story(t, header, d.Input)))
			case "terminal":
				h, r := ranPlan(t, d)
				var opt TerminalOptions
				d.MaybeScanArgs(t, "width", &opt.Width)
				opt.Color = d.HasArg("color")
				if err := Terminal(&b, h, r, opt); err != nil {
					return err.Error()
				}
				return strings.ReplaceAll(b.String(), "\x1b", "ESC")
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
func ranPlan(t *testing.T, d *datadriven.TestData) (*history.History, *campaign.Result) {
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
		return &history.History{}, &campaign.Result{Name: "nothing", Notes: []string{"interrupted before the first operation"}}
	}
	d.Fatalf(t, "unknown run %q", name)
	return nil, nil
}
