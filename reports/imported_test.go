package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history/logs"
	"lockpick/reports/term"
)

// TestReportsOfLogs: the reports of logs that were imported name the lines of each event, list
// what is possible, and say nothing of masters and faults.
func TestReportsOfLogs(t *testing.T) {
	clock := 50 * time.Millisecond
	im, err := logs.New(logs.Options{Format: logs.CSV, NoTTL: true, ClockError: &clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := im.Read("holds.csv", strings.NewReader(`key,client,acquired,releasing
orders,c1,1700000000.123456,1700000002.5
orders,c2,1700000001.123456,1700000003.5
orders,c1,1700000003.450001,1700000004.5
`)); err != nil {
		t.Fatal(err)
	}
	l, err := im.Log()
	if err != nil {
		t.Fatal(err)
	}
	h, r, err := judge.Logs(l)
	if err != nil {
		t.Fatal(err)
	}
	var page, text, summary bytes.Buffer
	for _, err := range []error{HTML(&page, h, r, nil), Terminal(&text, h, r, term.Options{Width: 200}), JSON(&summary, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, text string }{{"page", page.String()}, {"terminal", text.String()}} {
		for _, want := range []string{
			"c2 was granted orders", "according to holds.csv:2, 2023-11-14T22:13:20.123456Z", "according to holds.csv:3", "Possible violations",
			"c1 was granted orders at 2023-11-14T22:13:23.450001Z (holds.csv:4) while c2 held it (holds.csv:3), for 49.999ms more", "First event",
		} {
			if !strings.Contains(c.text, want) && !strings.Contains(c.text, strings.ToLower(want)) {
				t.Errorf("the %s does not say %q", c.name, want)
			}
		}
		for _, not := range []string{"No fault was injected", "None was injected", "Run it again", "persistence", "Acquire latency <"} {
			if strings.Contains(c.text, not) {
				t.Errorf("the %s says %q", c.name, not)
			}
		}
	}
	if !strings.Contains(page.String(), "acquired: holds.csv:2, 2023-11-14T22:13:20.123456Z; released: holds.csv:2") {
		t.Error("the timeline does not name the lines of a hold")
	}
	var got struct {
		Verdict       string
		PossibleCount int `json:"possible_count"`
		Possible      []logs.Possible
	}
	if err := json.Unmarshal(summary.Bytes(), &got); err != nil || got.Verdict != "violated" || got.PossibleCount != 1 || len(got.Possible) != 1 || got.Possible[0].Later != "holds.csv:4" {
		t.Errorf("%v: %s", err, summary.String())
	}
}
