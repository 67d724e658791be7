package remote

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockpick/history"
	"lockpick/internal/waittest"
	"lockpick/workload"
)

// respond is a shell script that answers init with the first of the lines, and each request after it with the next.
func respond(lines ...string) string {
	script := ""
	for _, l := range lines {
		script += "read -r l; echo '" + l + "'\n"
	}
	return script + "read -r l"
}

// TestMinimalClient: a client that can only acquire and release is enough. Its leases last for the TTL, counted from when
// it was asked.
func TestMinimalClient(t *testing.T) {
	u, err := foreign(t, respond(`{"type":"ok"}`, `{"type":"ok"}`, `{"type":"ok"}`, `{"type":"ok","token":"mine"}`))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	first := u.mustAcquire(t, "k0")
	if early, late := begun.Add(time.Second), time.Now().Add(time.Second); first.Until().Before(early) || first.Until().After(late) {
		t.Errorf("a lease of 1s ends %v after it was asked for", first.Until().Sub(begun))
	}
	if a, ok := first.(workload.AtLeast); !ok || !a.AtLeast() {
		t.Error("nobody saw when the attempt began, and the end of the lease counts as known")
	}
	if _, ok := first.(workload.Writer); ok {
		t.Error("it writes, and never said that it could")
	}
	if _, err := first.Extend(t.Context()); workload.Outcome(err) != history.Fail {
		t.Errorf("an extension by a client that cannot: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if second := u.mustAcquire(t, "k0"); second.Token() != "mine" || first.Token() == "" {
		t.Errorf("tokens %q and %q", first.Token(), second.Token())
	}
}

// TestTokenFromVotes: the token of a lease is the one that masters granted, if the client names none, and the lease lasts
// from when the first of them was asked.
func TestTokenFromVotes(t *testing.T) {
	var vote func(history.Op, time.Time)
	u := &user{}
	site := u.at("c1", []string{nowhere}, time.Second)
	site.Observe = func(f func(history.Op, time.Time)) { vote = f }
	dir := t.TempDir()
	script := `read -r l; echo '{"type":"ok"}'; read -r l; touch ` + dir + `/asked; while [ ! -e ` + dir + `/go ]; do sleep 0.01; done; echo '{"type":"ok"}'; read -r l`
	c, err := Start(Command{Args: []string{"sh", "-c", script}}, site)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	u.Client = c
	granted := func(master, token string, yes bool, ago time.Duration) {
		vote(history.Op{Process: master, Type: history.OK, F: history.FVote, Key: "k0", Value: &history.Value{Token: token, Command: history.CommandSet, Yes: yes, Took: ago}}, time.Now())
	}
	granted("m1", "before", true, 0)
	leases := make(chan workload.Lease)
	go func() { leases <- u.mustAcquire(t, "k0") }()
	waittest.Until(t, "the client is asked", func() bool {
		_, err := os.Stat(filepath.Join(dir, "asked"))
		return err == nil
	})
	asked := time.Now()
	granted("m1", "t", true, 0)
	granted("m2", "other", false, 0)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := <-leases
	if l.Token() != "t" || l.Until().Before(asked.Add(time.Second)) {
		t.Errorf("token %q, it ends %v after the master was asked", l.Token(), l.Until().Sub(asked))
	}
	if len(u.votes) != 3 || u.votes[1].Value.Client != "c1" {
		t.Errorf("votes %+v", u.votes)
	}
}

// TestLeaseOfTheLastAttempt: a lock that tries several times with the same token has its lease from its last attempt,
// even if the harness stood still between a reply and its record.
func TestLeaseOfTheLastAttempt(t *testing.T) {
	type vote struct {
		master, command string
		yes             bool
		ago             time.Duration // that it was asked, in seconds
	}
	const lost = 31 // asked so long ago, a command got no answer
	kind := map[bool]history.Type{false: history.OK, true: history.Info}
	set, extend, release := history.CommandSet, history.CommandExtend, history.CommandRelease
	for name, x := range map[string]struct {
		votes []vote
		from  time.Duration // that the lease counts from, in seconds before now
	}{
		"one attempt":                       {[]vote{{"m1", set, true, 30}, {"m2", set, true, 20}}, 30},
		"one whose first master said no":    {[]vote{{"m1", set, false, 30}, {"m2", set, true, 20}, {"m3", set, true, 10}}, 30},
		"answers in another order":          {[]vote{{"m3", set, true, 10}, {"m1", set, true, 30}, {"m2", set, true, 20}}, 30},
		"the first attempt was released":    {[]vote{{"m1", set, true, 90}, {"m2", release, true, 80}, {"m2", set, true, 20}, {"m3", set, true, 10}}, 20},
		"every master was asked again":      {[]vote{{"m1", set, true, 90}, {"m2", set, false, 80}, {"m1", set, false, 30}, {"m2", set, true, 20}, {"m3", set, true, 10}}, 30},
		"sent again without an answer":      {[]vote{{"m1", set, true, 30}, {"m2", set, false, lost}, {"m2", set, true, 10}}, lost},
		"acquired, and then given a TTL":    {[]vote{{"m1", set, true, 90}, {"m2", set, true, 80}, {"m1", extend, true, 30}, {"m2", extend, true, 20}}, 30},
		"on one master, at the third trial": {[]vote{{"m1", set, false, 90}, {"m1", set, false, 80}, {"m1", set, true, 20}}, 20},
	} {
		const standstill = 5 * time.Second
		c := &Client{site: workload.Env{Client: "c1", TTL: time.Minute, Record: func(op history.Op, ago time.Duration) {
			if ago < standstill {
				t.Errorf("%s: a vote that was seen %v ago was recorded as one of %v ago", name, standstill, ago)
			}
		}}, ready: true}
		before := time.Now()
		for _, v := range x.votes {
			c.observed(history.Op{Process: v.master, Type: kind[v.ago == lost], Value: &history.Value{Token: "t", Command: v.command, Yes: v.yes, Took: v.ago*time.Second - standstill}}, before.Add(-standstill))
		}
		end, _, atLeast := c.lasts("t", Message{}, before.Add(-time.Hour))
		if early, late := before.Add(time.Minute-x.from*time.Second), time.Now().Add(time.Minute-x.from*time.Second); end.Before(early) || end.After(late) || atLeast {
			t.Errorf("%s: the lease ends %v from where it should", name, end.Sub(early))
		}
	}
}

// TestHello: what a client says of itself is known, and what makes no sense is said.
func TestHello(t *testing.T) {
	u, err := foreign(t, respond(`{"type":"ok","can":["extend"],"library":"a lock 1.2","masters":1,"ttl":{"min_ms":500,"unit_ms":500},"lease":"none","fair":true,"dead_waiter_ms":2500,"new":{"a":1}}`, `{"type":"ok"}`))
	if err != nil {
		t.Fatal(err)
	}
	h := u.Hello()
	if h.Library != "a lock 1.2" || h.Masters != 1 || !h.Has(workload.CanExtend) || h.Has(workload.CanVotes) || !h.Fair || h.DeadWaiter() != 2500*time.Millisecond {
		t.Errorf("hello %+v", h)
	}
	if l := u.mustAcquire(t, "k0"); time.Until(l.Until()) < time.Hour {
		t.Errorf("a lease without an end ends in %v", time.Until(l.Until()))
	}
	before := noiseWithin
	t.Cleanup(func() { noiseWithin = before })
	noiseWithin = 50 * time.Millisecond
	for says, want := range map[string]string{
		`{"type":"ok","can":["fly"]}`:                            `"fly"`,
		`{"type":"ok","masters":3}`:                              `1 or "n"`,
		`{"type":"ok","lease":"long"}`:                           "lease",
		`{"type":"ok","dead_waiter_ms":-1}`:                      "dead_waiter_ms is -1: it is from 0 to 3600000, or left out",
		`{"type":"ok","ttl":{"min_ms":5000}}`:                    "--ttl 5s",
		`{"type":"ok","ttl":{"min_ms":300,"unit_ms":300}}`:       "--ttl 1.2s",
		`{"type":"fail","error":"redis-py is not installed"}`:    "redis-py is not installed",
		`{"type":"info"}`:                                        "",
		strings.Repeat("x", 500):                                 "not a message",
		`Warning: deprecated`:                                    "Warning: deprecated",
		`{"type":"vote","value":{"token":"t"}}'; exit 1; echo '`: workload.ErrGone.Error(),
	} {
		if _, err := foreign(t, respond(says)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want %q", says, err, want)
		}
	}
}

// TestOtherDescriptors: a client whose library prints speaks on descriptors 3 and 4.
func TestOtherDescriptors(t *testing.T) {
	u, err := foreign(t, `echo loading; read -r l <&3; echo hello; echo '{"type":"ok"}' >&4; read -r l <&3; echo more; echo '{"type":"ok","token":"t"}' >&4; read -r l <&3; read -r l <&3`)
	if err != nil {
		t.Fatal(err)
	}
	if l := u.mustAcquire(t, "k0"); l.Token() != "t" {
		t.Errorf("token %q", l.Token())
	}
}

// TestChildrenEndWithTheClient: what a client has forked is stopped and killed with it, and does not outlive it.
func TestChildrenEndWithTheClient(t *testing.T) {
	for _, end := range []string{"killed", "exits"} {
		file := filepath.Join(t.TempDir(), "pid")
		u, err := foreign(t, `sleep 600 & echo $! > `+file+`; read -r l; echo '{"type":"ok"}'; read -r l`)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		pid, e := strconv.Atoi(strings.TrimSpace(string(b)))
		if err := errors.Join(err, e); err != nil {
			t.Fatal(err)
		}
		u.Stop()
		awaitState(t, pid, "T")
		u.Continue()
		if end == "killed" {
			u.Kill()
		} else {
			_ = u.Close()
		}
		<-u.waited
		waittest.Until(t, end+": its child has ended", func() bool { return syscall.Kill(pid, 0) != nil || state(pid) == "Z" })
	}
}

// TestStderrIsKept: all of it goes to the log.
func TestStderrIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	u := &user{}
	c, err := Start(Command{Args: []string{"sh", "-c", `echo one >&2; read -r l; echo '{"type":"ok"}'; read -r l; echo two >&2`},
		Log: func(string) (io.WriteCloser, error) {
			return os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		}}, u.at("c1", nil, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "one\ntwo\n" {
		t.Errorf("%q, %v", b, err)
	}
	if c.LastWords() != "one\ntwo" {
		t.Errorf("last words %q", c.LastWords())
	}
	if last := c.LastRequest(); !strings.HasPrefix(last, `{"op":"exit"`) {
		t.Errorf("the last request is %q", last)
	}
}

// TestALineOfAnyLength: one that is too long ends the process, and is said.
func TestALineOfAnyLength(t *testing.T) {
	u, err := foreign(t, `read -r l; echo '{"type":"ok"}'; read -r l; head -c 2000000 /dev/zero | tr '\0' x; sleep 60`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Acquire(t.Context(), "k0"); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("got %v", err)
	}
}
