package reports

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"lockpick/history"
)

// acquired returns a history of leases of one second, one after the other.
func acquired(h history.Header, asks ...history.Value) *history.History {
	out := &history.History{Header: h}
	for i, v := range asks {
		at := time.Duration(i) * 2 * time.Second
		client, call, grant := []string{"c1", "c2"}[i%2], v, v
		grant.Token, grant.ValidUntil = string(rune('a'+i)), at+time.Second
		out.Ops = append(out.Ops,
			history.Op{Index: 2 * i, Time: at, Process: client, Type: history.Invoke, F: history.FAcquire, Key: "k0", Value: &call},
			history.Op{Index: 2*i + 1, Time: at, Process: client, Type: history.OK, F: history.FAcquire, Key: "k0", Value: &grant})
	}
	return out
}

// TestLanesTellReadersFromWriters: the page knows of each lease what it has of the lock, and which share of it that
// is. Of a mutex it has nothing to say.
func TestLanesTellReadersFromWriters(t *testing.T) {
	for _, x := range []struct {
		h     *history.History
		parts []string
		share []int
	}{
		{acquired(history.Header{Kind: history.ReadWrite}, history.Value{Mode: history.ModeRead}, history.Value{}), []string{"for reading", "for writing"}, []int{50, 100}},
		{acquired(history.Header{Kind: history.Semaphore, Permits: 3}, history.Value{}, history.Value{Permits: 2}, history.Value{Permits: 3}),
			[]string{"1 of the 3 permits", "2 of the 3 permits", "all 3 permits"}, []int{33, 66, 100}},
		{acquired(history.Header{Kind: history.Reentrant}, history.Value{}), nil, nil},
		{acquired(history.Header{}, history.Value{}), nil, nil},
	} {
		data, _, err := timelineOf(x.h).encode(x.h, "run", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Texts  []string     `json:"texts"`
			Leases packedLeases `json:"leases"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, i := range page.Leases.Part {
			parts = append(parts, page.Texts[i])
		}
		if !slices.Equal(parts, x.parts) || !slices.Equal(page.Leases.Share, x.share) {
			t.Errorf("of a %s: %q, share %v", x.h.Header.LockKind(), parts, page.Leases.Share)
		}
	}
}
