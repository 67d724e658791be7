package sim

import (
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/nemesis"
)

// TestFaultTookEffectIfAReplyWasMissingOrLate: with a timeout that is longer than the fault
// no command is left without a reply, and the late replies show the fault. A fault that no
// command met, or that delayed replies by nothing to speak of, took no effect.
func TestFaultTookEffectIfAReplyWasMissingOrLate(t *testing.T) {
	const patient, ordinary = 5 * time.Second, 50 * time.Millisecond
	for name, c := range map[string]struct {
		timeout time.Duration
		step    nemesis.Step
		lock    string
		took    bool
		says    string
	}{
		"a pause":                        {ordinary, nemesis.Step{Fault: "pause", Masters: []string{"m1"}}, "redlock", true, "got no reply"},
		"a pause, patient clients":       {patient, nemesis.Step{Fault: "pause", Masters: []string{"m1"}}, "redlock", true, "(usually "},
		"a partition, patient clients":   {patient, nemesis.Step{Fault: "partition", Masters: []string{"m1"}, Mode: cluster.Hold}, "redlock", true, "(usually "},
		"a reset":                        {ordinary, nemesis.Step{Fault: "reset", Masters: []string{"m1"}}, "redlock", true, "got no reply"},
		"slow":                           {patient, nemesis.Step{Fault: "slow", Masters: []string{"m1"}, Delay: 20 * time.Millisecond}, "redlock", true, "(usually "},
		"a pause of an idle master":      {ordinary, nemesis.Step{Fault: "pause", Masters: []string{"m3"}}, "single", false, "no lock command was left"},
		"a partition from an idle one":   {ordinary, nemesis.Step{Fault: "partition", Masters: []string{"m3"}}, "single", false, "nothing held"},
		"slow by less than replies vary": {patient, nemesis.Step{Fault: "slow", Masters: []string{"m1"}, Delay: 20 * time.Microsecond}, "redlock", false, "no lock command was left"},
	} {
		t.Run(name, func(t *testing.T) {
			c.step.At, c.step.For = 3*time.Second, time.Second
			run := campaign{
				lock: c.lock, persistence: cluster.None, clients: 3, faults: []string{c.step.Fault}, ttl: 8 * time.Second, limit: 10 * time.Second,
				seed: 1, timeout: c.timeout, steps: []nemesis.Step{c.step},
			}
			h, _ := run.check(t)
			f := history.Faults(h.Ops)[0]
			if f.TookEffect != c.took || !strings.Contains(f.Evidence, c.says) {
				t.Errorf("took effect: %v, want %v; evidence: %s", f.TookEffect, c.took, f.Evidence)
			}
			t.Log(f.Evidence)
		})
	}
}
