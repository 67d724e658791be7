package nemesis

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/cluster"
	"lockpick/history/fault"
)

// TestHalfOfAFault: a fault that only some of its masters can have is recorded as one that was installed
// and healed at once, because those have suffered it; one that none can have is recorded as skipped.
func TestHalfOfAFault(t *testing.T) {
	for _, name := range fault.Names() {
		if !fault.Of(name).HitsMaster() {
			continue
		}
		for _, refusing := range [][]string{nil, {"m2"}, {"m1", "m3"}, {"m1", "m2", "m3"}} {
			t.Run(fmt.Sprintf("%s/%d", name, len(refusing)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := on(t, 3, 1, 1)
					for _, m := range refusing {
						s.cluster.master(m).refuses = true
					}
					step := Step{Fault: name, At: time.Second, For: 3 * time.Second, Masters: []string{"m1", "m2", "m3"}}
					if fault.Of(name).Clock == fault.MasterClock {
						step.Clock = "+60s"
					}
					s.Schedule(s.ending(10*time.Second), []Step{step})
					all := s.faults(t)
					if len(all) != 1 {
						t.Fatalf("%d faults", len(all))
					}
					f := all[0]
					told := f.Evidence + f.Skipped + f.Problem
					switch some := len(refusing) < 3; {
					case f.Installed != some:
						t.Errorf("that it was installed is %v: %s", f.Installed, told)
					case len(refusing) == 0 && f.To-f.From < 3*time.Second:
						t.Errorf("it lasted %v: %s", f.To-f.From, told)
					case len(refusing) > 0 && (f.To-f.Began >= 3*time.Second || !strings.Contains(told, errRefused.Error())):
						t.Errorf("it lasted %v: %s", f.To-f.Began, told)
					case len(refusing) > 0 && some && !strings.Contains(f.Evidence, "given up"):
						t.Errorf("the evidence is %q", f.Evidence)
					}
					if hurt := s.cluster.hurt(); len(hurt) > 0 {
						t.Errorf("left: %v", hurt)
					}
				})
			})
		}
	}
}

// TestMemoryOfAMasterThatEnds: a master that evicts keys and ends while it is filled has lost them to the
// fault.
func TestMemoryOfAMasterThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 1, 1, 1)
		s.cluster.master("m1").lacks = cluster.ErrDown
		s.Schedule(s.ending(10*time.Second), []Step{{Fault: "memory", At: time.Second, For: time.Second, Masters: []string{"m1"}}})
		if f := s.faults(t)[0]; !f.Installed || !f.TookEffect || !strings.Contains(f.Evidence, "1 keys evicted") {
			t.Errorf("installed is %v, took effect is %v: %s", f.Installed, f.TookEffect, f.Evidence+f.Skipped)
		}
	})
}
