package cli

import (
	"testing"
	"time"

	"lockpick/campaign"
)

// TestProgressSaysWhatItCounts: while a run goes on only violations of L2 are counted, so the line does not say that there is no
// violation at all.
func TestProgressSaysWhatItCounts(t *testing.T) {
	s := campaign.Status{Stage: campaign.Working, Elapsed: 1500 * time.Millisecond, Limit: 30 * time.Second, Granted: 81}
	if got, want := describe(s), "  1.5s of 30s, "+string(s.Stage)+": leases granted: 81, L2 violations: 0; no fault now"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Stopping = true
	if got, want := describe(s), "  1.5s of 30s, "+string(s.Stage)+": leases granted: 81, violated, stopping; no fault now"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
