//go:build real

package masters

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/scenario"
	"lockpick/checker"
)

func TestEachKindIsInstalledAndHealedInContainers(t *testing.T) { eachKind(t, scenario.Docker) }

// TestAMajorityThatForgetsIsConvicted: on each driver, a lock of a quorum is granted twice after a power cut, a kill and a
// partition.
func TestAMajorityThatForgetsIsConvicted(t *testing.T) {
	for _, driver := range []string{scenario.Process, scenario.Docker} {
		t.Run(driver, func(t *testing.T) {
			x := started(t, driver, func(s *scenario.Scenario) { s.Masters, s.TTL = 3, 60*scenario.Duration(1e9) })
			event := func(event, client, fields string) {
				t.Helper()
				if status, says := x.ask(t, "POST", x.API+"/events", fmt.Sprintf(`{"event":%q,"client":%q,"key":"orders"%s}`, event, client, fields)); status != http.StatusOK {
					t.Fatal(says)
				}
			}
			acquire := func(client string, of ...int) {
				t.Helper()
				event("acquiring", client, "")
				token := "the-token-of-client-" + client
				for _, m := range of {
					c := redis.NewClient(&redis.Options{Addr: x.Clients[client][m-1], MaxRetries: -1})
					if err := c.Do(t.Context(), "SET", "orders", token, "NX", "PX", 60_000).Err(); err != nil {
						t.Fatalf("m%d refuses %s: %v", m, client, err)
					}
					c.Close()
				}
				event("acquired", client, fmt.Sprintf(`,"ttl_ms":60000,"token":%q`, token))
			}
			install := func(step string) {
				t.Helper()
				if status, says := x.ask(t, "POST", x.API+"/faults", step); status != http.StatusOK {
					t.Fatal(says)
				}
			}
			acquire("c1", 1, 2, 3)
			install(`{"fault":"kill","masters":["m1"],"for":"0s"}`)
			install(`{"fault":"powercut","masters":["m2"],"for":"0s"}`)
			install(`{"fault":"partition","masters":["m3"],"clients":["c2"]}`)
			acquire("c2", 1, 2)
			event("releasing", "c1", "")
			event("releasing", "c2", "")
			t.Log(x.verdicts(t))
			for _, p := range []checker.Property{checker.MutualExclusion, checker.BeliefExclusion, checker.MinValidity} {
				if v := x.result.ResultOf(p); v == nil || v.Verdict != checker.Violated {
					t.Errorf("%s: %+v", p.Name, v)
				}
			}
		})
	}
}
