package masters

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/internal/realdrivers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session is a running session, and what a program that uses it knows.
type session struct {
	State
	*Server
	over   chan struct{}
	result *judge.Result
	told   *history.History
	err    error
}

// started starts a session on real masters. It ends with the test.
func started(t *testing.T, driver string, change func(*scenario.Scenario)) *session {
	t.Helper()
	all := realdrivers.All()
	i := slices.IndexFunc(all.Real, func(d campaign.Driver) bool { return d.Name == driver })
	if i < 0 {
		t.Skip("no driver " + driver + " on this system")
	}
	if ok, why := all.Real[i].Available(t.Context(), cluster.Software{}); !ok {
		t.Skipf("no driver %s: %s", driver, why)
	}
	s := scenario.Defaults()
	s.Driver, s.Clients = driver, 2
	change(&s)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &session{over: make(chan struct{})}
	if x.Server, err = New(listener); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan State, 1)
	opt := campaign.Options{Drivers: all, Store: campaign.Store{Dir: t.TempDir()}, Progress: t.Logf}
	opt.Session = func(ctx context.Context, session *campaign.Session) error {
		return x.Serve(ctx, session, func(s State) { ready <- s })
	}
	go func() {
		defer close(x.over)
		_, x.told, x.result, x.err = campaign.Run(ctx, s, opt)
		if x.err == nil {
			x.Judged(x.result)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-x.over
		if err := x.Close(x.err); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case x.State = <-ready:
	case <-x.over:
		t.Fatal(x.err)
	}
	return x
}

// ask sends a request and returns the status and the answer.
func (x *session) ask(t *testing.T, method, path, body string, head ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
		if head[i] == "Host" {
			r.Host = head[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(b))
}

// TestAPI plays the sessions in testdata, a file each. Its commands are
//
//	POST /events     a request, with its body; the answer
//	redis c1 m1      a command to a master through the links of a client
//	stop             ends the session: the faults, and what was judged of L1 to L3
func TestAPI(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var x *session
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "masters":
				n := 1
				d.MaybeScanArgs(t, "n", &n)
				x = started(t, scenario.Process, func(s *scenario.Scenario) { s.Masters = n })
				return ""
			case "redis":
				var number int
				if _, err := fmt.Sscanf(d.CmdArgs[1].Key, "m%d", &number); err != nil {
					t.Fatal(err)
				}
				c := redis.NewClient(&redis.Options{Addr: x.Clients[d.CmdArgs[0].Key][number-1], MaxRetries: -1})
				defer c.Close()
				var args []any
				for _, word := range strings.Fields(d.Input) {
					args = append(args, word)
				}
				says, err := c.Do(t.Context(), args...).Result()
				if err != nil {
					return err.Error() + "\n"
				}
				return fmt.Sprintln(says)
			case "stop":
				return x.verdicts(t)
			}
			status, says := x.ask(t, d.Cmd, x.API+d.CmdArgs[0].Key, d.Input)
			return fmt.Sprintf("%d %s\n", status, strings.ReplaceAll(says, x.API, "API"))
		})
	})
}

// verdicts ends the session and returns what it recorded of faults and judged.
func (x *session) verdicts(t *testing.T) string {
	t.Helper()
	status, says := x.ask(t, "POST", x.API+"/stop", "")
	<-x.over
	if x.err != nil {
		t.Fatal(x.err)
	}
	c := x.result.Conclude(nil)
	if want := fmt.Sprintf("\"verdict\": %q", c.Verdict); status != http.StatusOK || !strings.Contains(says, want) {
		t.Errorf("stop answers %d without %s:\n%s", status, want, says)
	}
	var out strings.Builder
	for _, f := range history.Faults(x.told.Ops) {
		fmt.Fprintf(&out, "%s of %s: healed %v\n", f.Name, strings.Join(append(f.Masters, f.Clients...), " "), f.Healed)
	}
	for _, p := range checker.PropertiesOf([]string{"L1", "L2", "L3"}) {
		if v := x.result.ResultOf(p); v != nil {
			fmt.Fprintf(&out, "%s %s: %s\n", p.Level, p.Name, v.Verdict)
		} else {
			fmt.Fprintf(&out, "%s %s: not tested: %s\n", p.Level, p.Name, x.result.Untested[p.Name])
		}
	}
	return out.String()
}

// TestStopWaitsForFaultsInFlight: a fault that is still being installed when the session ends has healed before its end.
func TestStopWaitsForFaultsInFlight(t *testing.T) {
	x := started(t, scenario.Process, func(s *scenario.Scenario) { s.Masters = 3 })
	var asking sync.WaitGroup
	for m := range x.Masters {
		asking.Go(func() {
			if answer, err := http.Post(x.API+"/faults", "application/json", strings.NewReader(fmt.Sprintf(`{"fault":"kill","masters":[%q]}`, m))); err != nil {
				t.Error(err)
			} else if answer.Body.Close(); answer.StatusCode != http.StatusOK {
				t.Errorf("kill of %s: %s", m, answer.Status)
			}
		})
	}
	for begun := 0; begun < 3; { // each of them has a line for its order, and one for its effect
		_, told := x.ask(t, "GET", x.API+"/history", "")
		begun = 0
		for line := range strings.Lines(told) {
			if strings.Contains(line, `"invoke"`) && strings.Contains(line, `"install"`) {
				begun++
			}
		}
	}
	x.verdicts(t)
	asking.Wait()
	for _, f := range history.Faults(x.told.Ops) {
		if !f.Healed {
			t.Errorf("the %s of %v had not healed when the session ended", f.Name, f.Masters)
		}
	}
}

// TestStateSaysWhatClientsNeed: with the user, the password and the authority of the state a program can use an address.
func TestStateSaysWhatClientsNeed(t *testing.T) {
	x := started(t, scenario.Process, func(s *scenario.Scenario) { s.Masters, s.TLS, s.ACL = 1, true, "user app on >secret ~* +@all" })
	secured, err := cluster.Access{CA: x.CA}.TLS()
	if err != nil || secured == nil {
		t.Fatal(secured, err)
	}
	c := redis.NewClient(&redis.Options{Addr: x.Addresses[0], Username: x.User, Password: x.Password, TLSConfig: secured, MaxRetries: -1})
	defer c.Close()
	if says, err := c.Do(t.Context(), "SET", "orders", "t", "NX", "PX", 2000).Result(); err != nil || says != "OK" {
		t.Errorf("%v, %v", says, err)
	}
}

// TestOnlyItsOwnAddressIsAnswered: neither a page that made its name resolve to this machine, nor one that a browser says
// is of another origin, nor somebody who does not know the secret can do anything.
func TestOnlyItsOwnAddressIsAnswered(t *testing.T) {
	x := started(t, scenario.Process, func(s *scenario.Scenario) { s.Masters = 1 })
	open := "http://" + x.hosts[0]
	for _, c := range []struct {
		name, path string
		head       []string
	}{
		{"no secret", open + "/faults", nil},
		{"another secret", open + "/abc/faults", nil},
		{"another host", x.API + "/faults", []string{"Host", "example.org"}},
		{"another origin", x.API + "/faults", []string{"Origin", "http://example.org"}},
	} {
		if status, says := x.ask(t, "POST", c.path, `{"fault":"kill"}`, c.head...); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", c.name, status, says)
		}
	}
	if _, says := x.ask(t, "GET", x.API+"/", ""); !strings.Contains(says, `"faults":[]`) {
		t.Errorf("a fault was installed: %s", says)
	}
}

// eachKind installs and heals each kind of fault that a driver has, and checks that the history has it healed.
func eachKind(t *testing.T, driver string) {
	x := started(t, driver, func(s *scenario.Scenario) {
		s.Masters, s.Replicas, s.MaxMemory, s.Persistence = 3, 1, 4<<20, "always"
		s.TTL = s.TTL / 4 // a failover waits for a grant, up to two of them
	})
	for _, kind := range x.Kinds {
		step := fmt.Sprintf(`{"fault":%q,"masters":["m2"]}`, kind)
		switch kind {
		case "clock":
			step = `{"fault":"clock","masters":["m2"],"clock":"+1s"}`
		case "client-partition":
			step = `{"fault":"client-partition","clients":["c2"]}`
		}
		status, says := x.ask(t, "POST", x.API+"/faults", step)
		for n := 1; n < 4 && status == http.StatusConflict && strings.Contains(says, "i/o timeout"); n++ { // of a busy machine
			status, says = x.ask(t, "POST", x.API+"/faults", step)
		}
		if status == http.StatusConflict && strings.Contains(says, cluster.ErrUnavailable.Error()) {
			t.Logf("%s: %s", kind, says)
			continue
		}
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", kind, status, says)
			continue
		}
		if _, says = x.ask(t, "GET", x.API+"/", ""); !strings.Contains(says, fmt.Sprintf(`"fault":%q`, kind)) {
			t.Errorf("%s is not listed: %s", kind, says)
		}
		if status, says = x.ask(t, "DELETE", x.API+"/faults", ""); status != http.StatusOK || !strings.Contains(says, `"faults":[]`) || strings.Contains(says, `"down"`) {
			t.Errorf("%s was not healed: %d %s", kind, status, says)
		}
	}
	x.verdicts(t)
	healed := map[string]bool{}
	for _, f := range history.Faults(x.told.Ops) {
		healed[f.Name] = f.Healed || f.Skipped != ""
	}
	for _, kind := range x.Kinds {
		if !healed[kind] {
			t.Errorf("%s: the history does not say that it healed", kind)
		}
	}
	if n := len(x.Kinds); n < 14 {
		t.Errorf("%d kinds of fault are possible: %v", n, x.Kinds)
	}
}

func TestEachKindIsInstalledAndHealed(t *testing.T) { eachKind(t, scenario.Process) }
