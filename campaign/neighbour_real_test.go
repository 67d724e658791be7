//go:build real

package campaign

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
)

// TestAFlushByAnotherProgramConvictsNobody: a program of the same user finds a link, as a test suite does that flushes each Redis
// on the machine. The master refuses it, and the run says so. Where the scenario allows it, the run is inconclusive, by name.
func TestAFlushByAnotherProgramConvictsNobody(t *testing.T) {
	if out, err := exec.Command("/usr/bin/python3", "-c", "import redis").CombinedOutput(); err != nil {
		t.Skipf("needs python3-redis: %v: %s", err, out)
	}
	capture(t)
	for _, c := range []struct {
		name, link, note, why string
		admin                 bool
		verdict               checker.Verdict
	}{
		{name: "refused", link: "c1", verdict: checker.Holds, note: "masters refused FLUSHALL on a link of c1 once,"},
		{name: "allowed", link: "somebody", admin: true, verdict: checker.Invalid, note: "somebody who is not a client of this run changed keys", why: "somebody else's command exec deleted k0 on m1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var flushed error
			var r *judge.Result
			run := func(s scenario.Scenario) *judge.Result {
				got := make(chan cluster.Cluster, 1)
				var masters cluster.Cluster
				answered := false
				flushed = errors.New("it was not sent")
				live := func(s Status) {
					if answered || s.Granted < 5 {
						return
					}
					if masters == nil {
						masters = <-got
					}
					link, err := masters.Link(c.link, 0)
					if err != nil {
						t.Error(err)
						return
					}
					client := redis.NewClient(&redis.Options{Addr: link.Addr(), MaxRetries: -1, DisableIdentity: true})
					defer client.Close()
					if c.admin { // it matters only if a key is there
						var keys *redis.IntCmd
						_, flushed = client.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
							keys = p.DBSize(context.Background())
							return p.FlushAll(context.Background()).Err()
						})
						answered = flushed == nil && keys.Val() > 0
						return
					}
					flushed = client.FlushAll(context.Background()).Err()
					var reply redis.Error
					answered = errors.As(flushed, &reply) // the master may be down
				}
				var err error
				_, _, r, err = Run(context.WithValue(t.Context(), mastersOf{}, got), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Live: live, Trust: TrustAll})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			s := foreignScenario(t, "redis-py")
			s.Persistence, s.StopOnViolation, s.Admin, s.Properties = "always", false, c.admin, []string{"L2"}
			untilShown(t, s, run, "L2 "+string(c.verdict))
			if refused := redis.HasErrorPrefix(flushed, "NOPERM"); refused == c.admin {
				t.Errorf("FLUSHALL: %v", flushed)
			}
			if v := verdictAt(r, "L2"); v != nil && !strings.Contains(v.Why, c.why) {
				t.Errorf("L2: %+v", v)
			}
			if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, c.note) }) {
				t.Errorf("the notes %q do not say %q", r.Notes, c.note)
			}
		})
	}
}
