//go:build real

package campaign

import (
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/history"
)

// slowFile is a file that now and then takes up to two seconds for a line, while everybody who
// records waits.
type slowFile struct {
	io.Writer
	mu     sync.Mutex
	random *rand.Rand
	often  float64 // the share of lines that take long
	delays int
}

func (f *slowFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	delay := time.Duration(0)
	if f.random.Float64() < f.often {
		delay = time.Duration(f.random.Int64N(int64(2 * time.Second)))
		f.delays++
	}
	f.mu.Unlock()
	time.Sleep(delay)
	return f.Writer.Write(b)
}

// TestSlowRecorderConvictsNobody delays single lines of the history by up to two seconds. No
// correct lock is convicted, because the history says how late each line is. A planted bug is
// still found.
func TestSlowRecorderConvictsNobody(t *testing.T) {
	t.Parallel()
	driver := testDrivers.Real[0]
	for _, d := range testDrivers.Real {
		if d.Name == "process" {
			driver = d
		}
	}
	if ok, why := driver.Available(t.Context(), cluster.Software{}); !ok {
		t.Skipf("no driver %s: %s", driver.Name, why)
	}
	for _, c := range []struct {
		lock      string
		as        string
		violating bool
	}{{"redlock", "", false}, {"textbook-renewing", "", false}, {"redlock", scenario.Processes, false}, {"redlock-plain-del", "", true}} {
		t.Run(c.lock+" "+c.as, func(t *testing.T) {
			t.Parallel()
			s := shortScenario(driver.Name, func(s *scenario.Scenario) {
				s.Lock, s.Clients, s.Keys, s.TTL, s.Extend, s.Seed = c.lock, 6, 2, 2*time.Second, 0.5, 7
				s.Faults, s.Persistence = []string{"pause", "partition"}, "always"
				if c.as != "" {
					s.ClientsAs = c.as
				}
				if c.violating {
					untilBroken(s)
				}
			})
			var file *slowFile
			slow := func(w io.Writer) io.Writer {
				file = &slowFile{Writer: w, random: rand.New(rand.NewPCG(1, 2)), often: 0.005}
				return file
			}
			_, h, r, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: t.Logf, Client: command, slow: slow})
			if err != nil {
				t.Fatal(err)
			}
			stalls, votes := 0, 0
			for _, op := range h.Ops {
				switch {
				case op.F == history.FStall:
					stalls++
				case op.F == history.FVote && op.Value.Delay > 0:
					votes++
				}
			}
			t.Logf("%d lines took long, %d stalls and %d delayed votes were recorded", file.delays, stalls, votes)
			if file.delays == 0 || stalls == 0 || votes == 0 {
				t.Error("nothing was recorded late: the test shows nothing")
			}
			violated := false
			for _, v := range r.Verdicts {
				if v.Verdict != checker.Violated {
					continue
				}
				if violated = true; !c.violating {
					t.Errorf("%s: %s\n%s", v.Name, v.Why, v.Violations[0].Summary)
				}
			}
			if c.violating && !violated {
				t.Error("nothing was found")
			}
		})
	}
}
