package remote

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/workload"
)

// programClocks makes the clocks of the shim, or skips the test.
func programClocks(t *testing.T) func() (workload.ProgramClocks, error) {
	t.Helper()
	c, err := process.NewProgramClocks(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return func() (workload.ProgramClocks, error) { return process.NewProgramClocks(t.Context()) }
}

// perl starts a client in Perl that answers init, acquire and release, and what its clock shows
// as the error of each other request.
func perl(t *testing.T, clocks func() (workload.ProgramClocks, error), hello, granted string) *user {
	t.Helper()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip(err)
	}
	script := `use Time::HiRes; $| = 1;
sub ns { sprintf "%d", 1e9 * Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) }
while (<STDIN>) {
	last if /"exit"/;
	if (/"init"/) { print '{"type":"ok"` + hello + `}', "\n"; next }
	if (/"acquire"/) { print '{"type":"ok"` + granted + `}' =~ s/NOW/ns()/er, "\n"; next }
	if (/"clock"/) { print '{"type":"clock","value":{"rate":2}}', "\n"; next }
	print '{"type":"info","error":"' . ns() . '"}', "\n";
}`
	u := &user{skewed: make(chan cluster.Clock, 10)}
	c, err := Start(Command{Args: []string{"perl", "-e", script}, Clocks: clocks}, u.at("c1", []string{nowhere}, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	u.Client = c
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return u
}

// set skews the clocks, which are to be skewed at once.
func (u *user) set(t *testing.T, to cluster.Clock) {
	t.Helper()
	if now, err := u.SetClock(to); err != nil || !now {
		t.Fatalf("skewed at once: %v, %v", now, err)
	}
}

// TestLeaseByClocksOfTheHarness: a client that knows nothing of clocks relies on a lease for its TTL by its own clock,
// whether that is skewed before or while it holds the lease, and what it says of times is what that clock shows.
func TestLeaseByClocksOfTheHarness(t *testing.T) {
	clocks := programClocks(t)
	for name, granted := range map[string]string{
		"it names no end":    ``,
		"it says what it is": `,"left":20000000000,"at":NOW`,
	} {
		t.Run(name, func(t *testing.T) {
			u := perl(t, clocks, "", granted)
			if u.Hello().NoSkew != nil || !u.hello.Skews() {
				t.Fatal(u.Hello().NoSkew)
			}
			begun := time.Now()
			first := u.mustAcquire(t, "k0")
			near(t, first, 20*time.Second, begun)
			u.set(t, cluster.Clock{Rate: 0.01, Offset: time.Hour})
			now := time.Now() // until then the 20 s may have passed at full speed
			between(t, "the end of 20 s at a hundredth of the speed", begun.Add(100*(19*time.Second-now.Sub(begun))), first.Until(), now.Add(2000*time.Second))
			begun = time.Now()
			second := u.mustAcquire(t, "k1")
			between(t, "the end of a new lease of 20 s at that speed", begun.Add(1999*time.Second), second.Until(), time.Now().Add(2100*time.Second))
			u.set(t, cluster.Clock{Rate: 100})
			begun = time.Now()
			near(t, u.mustAcquire(t, "k2"), 200*time.Millisecond, begun)
			u.set(t, cluster.Clock{})
			begun = time.Now()
			near(t, u.mustAcquire(t, "k3"), 20*time.Second, begun)
		})
	}
}

// TestClientThatSkewsItsOwnClocks: the harness leaves the clocks of a client alone that skews them by itself.
func TestClientThatSkewsItsOwnClocks(t *testing.T) {
	u := perl(t, programClocks(t), `,"can":["clock"]`, "")
	before := monotonic()
	u.skew(t, cluster.Clock{Rate: 2})
	_, err := u.ask(Request{Op: opWrite})
	var shows int64
	if _, e := fmt.Sscan(err.Error(), &shows); e != nil {
		t.Fatal(err)
	}
	if shows < before-int64(time.Microsecond) || shows > monotonic()+int64(time.Microsecond) {
		t.Errorf("its clock shows %d, want %d to %d", shows, before, monotonic())
	}
}

// TestClocksThatCannotBeSkewed: the reason is known, skewing them fails with it, and to heal them is not an error.
func TestClocksThatCannotBeSkewed(t *testing.T) {
	none := errors.New("no compiler")
	u := perl(t, func() (workload.ProgramClocks, error) { return nil, none }, "", "")
	if !errors.Is(u.Hello().NoSkew, none) {
		t.Errorf("it is said that they cannot be skewed because of %v", u.Hello().NoSkew)
	}
	if now, err := u.SetClock(cluster.Clock{Rate: 2}); now || !errors.Is(err, workload.ErrNoSkew) || !errors.Is(err, none) {
		t.Errorf("skewed %v, %v", now, err)
	}
	if _, err := u.SetClock(cluster.Clock{}); err != nil {
		t.Error(err)
	}
	near(t, u.mustAcquire(t, "k0"), 20*time.Second, time.Now())
}

// TestSlowClientIsNotHung: a client may take as long as its own clock says, which is longer in truth.
func TestSlowClientIsNotHung(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	u := perl(t, programClocks(t), "", "")
	u.site.TTL, u.site.Timeout, patience = 0, 0, 100*time.Millisecond
	u.set(t, cluster.Clock{Rate: 0.05})
	u.Stop()
	u.stop(false) // as far as the harness knows, it runs
	time.AfterFunc(time.Second, u.Continue)
	if _, err := u.ask(Request{Op: opRelease}); errors.Is(err, workload.ErrGone) {
		t.Errorf("it was ended: %s", u.LastWords())
	}
}

// TestConformWithSkewedClocks: the check skews the clocks of a client that does not do it itself, and finds one that
// a clock makes hang.
func TestConformWithSkewedClocks(t *testing.T) {
	clocks := programClocks(t)
	c, err := process.Start(t.Context(), cluster.Config{Masters: 1})
	if err != nil {
		t.Skip(err)
	}
	defer c.Close()
	// Its lock needs no masters.
	const start = `use Time::HiRes; $| = 1; while (<STDIN>) { last if /"exit"/; `
	for name, x := range map[string]struct{ script, problem, skipped string }{
		"it works":                  {start + `print "{\"type\":\"ok\"}\n" }`, "", ""},
		"it ends with a jump":       {start + `exit 7 if time > 2000 + ($begun //= time); print "{\"type\":\"ok\"}\n" }`, "off by 1h0m0s", ""},
		"it clears its environment": {`exec "env", "-i", "perl", "-e", '` + start + `print "{\"type\":\"ok\"}\n" }'`, "", "cleared its environment"},
	} {
		var found CheckResult
		k := &kit{Conformance: Conformance{Command: []string{"perl", "-e", x.script}, Masters: c, Clocks: clocks}, ctx: t.Context()}
		err := k.checkClock()
		k.endAll()
		var skip skipped
		if errors.As(err, &skip) {
			found.Skipped = skip.why
		} else if err != nil {
			found.Problem = err.Error()
		}
		if (found.Problem != "") != (x.problem != "") || !strings.Contains(found.Problem, x.problem) || (found.Skipped != "") != (x.skipped != "") || !strings.Contains(found.Skipped, x.skipped) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
