package remote

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/history"
	"lockpick/internal/waittest"
	"lockpick/workload"
)

// foreign starts a shell script as a client process.
func foreign(t *testing.T, script string) (*user, error) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh: ", err)
	}
	u := &user{}
	c, err := Start(Command{Args: []string{sh, "-c", script}, Lock: "redlock"}, u.at("c1", []string{nowhere}, time.Second))
	if err == nil {
		u.Client = c
		t.Cleanup(func() { _ = c.Close() })
	}
	return u, err
}

// TestStartFails: the error says which client, and what the command said at its end.
func TestStartFails(t *testing.T) {
	site := workload.Env{Client: "c1"}
	for _, c := range []struct {
		name    string
		command []string
		want    []string
	}{
		{"no command", nil, []string{"c1", "no command"}},
		{"no such command", []string{"/no/such/command"}, []string{"c1", "/no/such/command"}},
		{"it ends at once", []string{"sh", "-c", "echo no licence >&2; exit 3"}, []string{"c1", workload.ErrGone.Error(), "no licence"}},
		{"it refuses", []string{"sh", "-c", `read l; echo '{"type":"fail","error":"no such lock"}'`}, []string{"c1", "no such lock"}},
		{"it says why at the end", []string{"sh", "-c", `read l; echo '{"type":"fail","error":"no"}'; read l; echo the licence ended >&2`}, []string{"the licence ended"}},
		{"it says much", []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do printf %0999d 0 >&2; done; echo the end >&2"}, []string{"the end"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(Command{Args: c.command}, site)
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if len(err.Error()) > 2500 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

// TestNotOurs: what a process says that no client should say ends it, and is told.
func TestNotOurs(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{`hello`, "hello"},
		{`{"type":"maybe"}`, "maybe"},
		{`{"type":"ended","key":"k0"}`, "value is missing"},
		{`{"type":"point","key":"k0"}`, "value is missing"},
		{`{"type":"ok","token":7}`, "not a message"},
		{`null`, "null"},
		{`{"type":"ok","token":"t","left":1e400}`, `the field "left" takes no number 1e400`},
		{`[]`, "it is not an object"},
	} {
		t.Run(c.says, func(t *testing.T) {
			u, err := foreign(t, `read l; echo '{"type":"ok"}'; read l; echo '`+c.says+`'; exec sleep 60`)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := u.Acquire(t.Context(), "k0"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			if _, err := u.Acquire(t.Context(), "k0"); !errors.Is(err, workload.ErrGone) {
				t.Errorf("and then %v", err)
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			if i := slices.IndexFunc(u.votes, func(op history.Op) bool { return op.F == history.FBroke }); i < 0 || u.votes[i].Process != "c1" || !strings.Contains(u.votes[i].Error, c.want) {
				t.Errorf("it is not recorded that the protocol was broken: %+v", u.votes)
			}
		})
	}
}

// TestASecondAnswerBreaksTheProtocol: it would count as the answer to the next request.
func TestASecondAnswerBreaksTheProtocol(t *testing.T) {
	u, err := foreign(t, `read l; echo '{"type":"ok"}'; read l; echo '{"type":"fail"}'; echo '{"type":"ok"}'; exec sleep 60`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Acquire(t.Context(), "k0"); err == nil {
		t.Error("it was granted the lock")
	}
	<-u.waited
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.ContainsFunc(u.votes, func(op history.Op) bool {
		return op.F == history.FBroke && strings.Contains(op.Error, "had answered all requests")
	}) {
		t.Errorf("it is not recorded that the protocol was broken: %+v", u.votes)
	}
}

// TestEndedBeforeGranted: a lease that was over before its outcome was read is over.
func TestEndedBeforeGranted(t *testing.T) {
	const granted = `echo '{"type":"ok","key":"k0","value":{"token":"t"},"left":1000000000,"at":1}'`
	for _, c := range []struct{ name, script, want string }{
		{"told", `echo '{"type":"ended","key":"k0","value":{"token":"t"},"error":"too late"}'; ` + granted + `; read l`, "too late"},
		{"gone", `echo '{"type":"apply","value":{}}'; ` + granted, workload.ErrGone.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := foreign(t, `read l; echo '{"type":"ok"}'; read l; `+c.script)
			if err != nil {
				t.Fatal(err)
			}
			u.applies = func() { <-u.waited } // the outcome is read when the process is gone
			lease, err := u.Acquire(t.Context(), "k0")
			if err != nil {
				t.Fatal(err)
			}
			if cause := over(t, lease); cause.Error() != c.want {
				t.Errorf("over because of %v", cause)
			}
		})
	}
}

// TestHangs: a process that does not exit when it is asked to, or that closes its
// stdout and goes on, is ended.
func TestHangs(t *testing.T) {
	t.Run("does not exit", func(t *testing.T) {
		t.Parallel()
		u, err := foreign(t, `read l; echo '{"type":"ok"}'; exec sleep 60`)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Returns("closing", func() {
			if err := u.Close(); err != nil || !u.Gone() {
				t.Errorf("%v, gone %v", err, u.Gone())
			}
		})
	})
	t.Run("says nothing more", func(t *testing.T) {
		t.Parallel()
		u, err := foreign(t, `read l; echo '{"type":"ok"}'; exec sleep 60 >&-`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Acquire(context.Background(), "k0"); !errors.Is(err, workload.ErrGone) {
			t.Errorf("got %v", err)
		}
	})
}

// TestSilent: a process that hangs is ended, and with it its leases; but not one that is
// stopped, however long.
func TestSilent(t *testing.T) {
	before := patience
	t.Cleanup(func() { patience = before })
	patience = 300 * time.Millisecond
	u, err := foreign(t, `read l; echo '{"type":"ok"}'; read l; read l`)
	if err != nil {
		t.Fatal(err)
	}
	u.site.AcquireTimeout, u.site.Timeout = 100*time.Millisecond, 0
	u.Stop()
	var continued atomic.Bool
	time.AfterFunc(2*time.Second, func() {
		continued.Store(true)
		u.Continue()
	})
	if _, err := u.Acquire(context.Background(), "k0"); !errors.Is(err, workload.ErrGone) {
		t.Errorf("got %v", err)
	}
	if !continued.Load() {
		t.Error("it was ended while it was stopped")
	}
	if said := u.LastWords(); !strings.Contains(said, "did not answer acquire within 1.4s") {
		t.Errorf("of its end: %q", said)
	}
}
