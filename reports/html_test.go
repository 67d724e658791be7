package reports

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/reports/term"
)

// TestPages writes the pages of the synthetic runs into the folder that
// LOCKPICK_PAGES names, to look at.
func TestPages(t *testing.T) {
	folder := os.Getenv("LOCKPICK_PAGES")
	if folder == "" {
		t.Skip("LOCKPICK_PAGES names no folder to write pages to")
	}
	for name, p := range map[string]plan{"violated": violatedPlan(), "sound": soundPlan(), "long": longPlan(10_000), "huge": longPlan(100_000), "hostile": hostilePlan()} {
		var b bytes.Buffer
		h, r := synthesize(p)
		if err := HTML(&b, h, r, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".html"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d lines, %d leases, %d violations, %d kB", name, len(h.Ops), r.Counts.Granted, found(r), b.Len()/1000)
	}
}

func TestNamesCannotBecomeMarkup(t *testing.T) {
	var b bytes.Buffer
	h, r := synthesize(hostilePlan())
	if err := HTML(&b, h, r, nil); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<img") {
		t.Error("a name became an element")
	}
	_, data, _ := strings.Cut(page, `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	if len(data) < 1000 || strings.ContainsAny(data, "<>&\u2028\u2029") {
		t.Error("the data holds characters that end a script or a line of it")
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("there are %d ends of scripts, want those of the data and of the script", n)
	}
}

func TestPagesOfRunsThatHardlyHappened(t *testing.T) {
	for name, h := range map[string]*history.History{
		"no operation":     {Header: history.Header{Masters: 5}},
		"one operation":    {Header: history.Header{Masters: 5}, Ops: []history.Op{{Process: "c1", F: history.FAcquire, Type: history.Invoke, Key: "k0"}}},
		"values missing":   {Ops: []history.Op{{Process: "m1", F: history.FVote, Type: history.OK}, {Process: "resource", F: history.FApply, Type: history.OK}, {Process: "m1", F: history.FState}}},
		"returns unasked":  {Ops: []history.Op{{Process: "c1", F: history.FAcquire, Type: history.OK, Value: &history.Value{Token: "t"}}}},
		"unknown commands": {Ops: []history.Op{{Process: "c1", F: "dance", Type: history.OK}}},
	} {
		var b bytes.Buffer
		if err := HTML(&b, h, &judge.Result{}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := Terminal(&b, h, &judge.Result{}, term.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkHTML100k(b *testing.B) {
	h, r := synthesize(longPlan(100_000))
	b.ResetTimer()
	for b.Loop() {
		if err := HTML(io.Discard, h, r, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestClocks: masters' clocks are drawn once one of them was off, and not for noise.
func TestClocks(t *testing.T) {
	offset := func(d time.Duration) *time.Duration { return &d }
	look := func(at time.Duration, master string, off time.Duration) history.Op {
		return history.Op{Time: at, Process: master, Type: history.Info, F: history.FSnapshot, Value: &history.Value{Offset: offset(off)}}
	}
	h := &history.History{Header: history.Header{Masters: 2}, Ops: []history.Op{
		look(time.Second, "m1", time.Millisecond), look(time.Second, "m2", -2*time.Millisecond),
	}}
	if got := clocksOf(h, timelineOf(h)); len(got) != 0 {
		t.Errorf("clocks that are right are drawn: %v", got)
	}
	h.Ops = append(h.Ops, look(2*time.Second, "m2", -60*time.Second))
	want := [][]int64{{0, 1_000_000, 1000}, {1, 1_000_000, -2000}, {1, 2_000_000, -60_000_000}}
	if got := clocksOf(h, timelineOf(h)); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	if clients := timelineOf(h).clients; len(clients) != 0 {
		t.Errorf("masters that were looked at are taken for clients: %v", clients)
	}
}

// TestMuchDataIsDeflated: what a page unpacks is what a small one has as it is, and it is several times
// shorter.
func TestMuchDataIsDeflated(t *testing.T) {
	h, _ := synthesize(longPlan(100_000))
	data, votes, err := timelineOf(h).encode(h, "run", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(data)+len(votes) < deflateFrom || len(votes) == 0 || !bytes.Contains(data, []byte(`"votes":null`)) {
		t.Fatalf("%d bytes of data and %d of votes: that is not much, or not apart", len(data), len(votes))
	}
	short, err := deflated(data)
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte // base64 in JSON
	if err := json.Unmarshal(short, &raw); err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(flate.NewReader(bytes.NewReader(raw)))
	if err != nil || !bytes.Equal(back, data) || len(short) > len(data)/2 {
		t.Errorf("%d bytes became %d, and %d again (%v)", len(data), len(short), len(back), err)
	}
	few, _ := synthesize(violatedPlan())
	if _, votes, err := timelineOf(few).encode(few, "run", nil, nil, nil); err != nil || votes != nil {
		t.Errorf("the %d bytes of votes of a short run stand apart (%v)", len(votes), err)
	}
}
