package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/workload"
)

// Finding is the result of one conformance check of a client.
type Finding struct {
	Name    string
	Problem string // the line, the field and what was expected; empty: none
	Skipped string // why it was not tested; empty: it was
	Note    string // worth knowing, but not a fault
}

// Conform has a command answer scripted exchanges on real masters, and tells of each. It needs a cluster of its own. The
// error says why nothing could be checked.
func Conform(ctx context.Context, command []string, masters cluster.Cluster, tell func(Finding)) error {
	k := &kit{ctx: ctx, command: command, masters: masters}
	defer k.endAll()
	for _, c := range conformance {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := Finding{Name: c.name}
		if c.needs != "" && !k.hello.Has(c.needs) {
			f.Skipped = fmt.Sprintf("the client does not say that it can %q", c.needs)
			tell(f)
			continue
		}
		k.note = ""
		err := c.run(k)
		f.Note = k.note
		var skip skipped
		switch {
		case errors.As(err, &skip):
			f.Skipped = skip.why
		case err != nil:
			f.Problem = err.Error()
		}
		tell(f)
		if c.name == "init" && err != nil {
			return nil // nothing else can be tried
		}
		k.endAll()
	}
	return nil
}

// conformance lists the checks, in order.
var conformance = []struct {
	name, needs string
	run         func(*kit) error
}{
	{"init", "", (*kit).checkInit},
	{"grant and release", "", (*kit).checkGrant},
	{"refusal, and grant after a release", "", (*kit).checkRefusal},
	{"extend", workload.CanExtend, (*kit).checkExtend},
	{"release of what is gone", "", (*kit).checkLost},
	{"fields that are not known", "", (*kit).checkUnknownFields},
	{"a master that does not answer", "", (*kit).checkTimeout},
	{"stop and continue", "", (*kit).checkStop},
	{"kill, and the next life", "", (*kit).checkKill},
	{"a bent clock", workload.CanClock, (*kit).checkClock},
	{"exit", "", (*kit).checkExit},
}

// kit is a check that runs.
type kit struct {
	ctx     context.Context
	command []string
	masters cluster.Cluster
	hello   Hello
	note    string
	open    []*talk
	keys    int
}

// skipped says why something was not tested.
type skipped struct{ why string }

func (s skipped) Error() string { return s.why }

// talk is a conversation with one process.
type talk struct {
	kit   *kit
	name  string
	p     *child
	said  int // lines so far
	asked Request
}

// conformTTL is the TTL of the leases: whole seconds, as some libraries want.
const conformTTL = 2 * time.Second

// answerWithin bounds how long a client may take, beside the time that it was given.
const answerWithin = 10 * time.Second

func (k *kit) begin(client string) (*talk, Message, error) {
	t := &talk{kit: k, name: client}
	var addrs []string
	for i := range k.masters.Masters() {
		link, err := k.masters.Link(client, i)
		if err != nil {
			return nil, Message{}, err
		}
		link.Set(cluster.LinkFault{})
		addrs = append(addrs, link.Addr())
	}
	var err error
	if t.p, err = spawn(k.command, nil, nil); err != nil {
		return nil, Message{}, err
	}
	k.open = append(k.open, t)
	m, err := t.ask(Request{Op: opInit, Protocol: ProtocolVersion, Client: client, Lock: "check", Masters: addrs, TTL: conformTTL, TTLMS: inMS(conformTTL)}, startWithin+answerWithin)
	if err == nil && m.Type != string(history.OK) {
		err = t.wrong("type", m.Type+" ("+m.Error+")", `"ok"`)
	}
	return t, m, err
}

// holder starts a client and has it acquire a new key.
func (k *kit) holder() (t *talk, key string, granted Message, err error) {
	if t, _, err = k.begin("c1"); err != nil {
		return t, "", granted, err
	}
	key = k.key()
	granted, err = t.acquire(key, 2*time.Second, history.OK)
	return t, key, granted, err
}

// endAll ends the processes of a check.
func (k *kit) endAll() {
	for _, t := range k.open {
		t.p.signal(syscall.SIGKILL)
		for range t.p.lines {
		}
	}
	k.open = nil
}

// key is one that no check has used.
func (k *kit) key() string {
	k.keys++
	return fmt.Sprintf("check%d", k.keys)
}

// wrong says what is wrong with the last line.
func (t *talk) wrong(field, is, want string) error {
	return fmt.Errorf("line %d of what %s said, its answer to %s: %s is %s, want %s", t.said, t.name, t.asked.Op, field, is, want)
}

// ask sends a request and returns its outcome. Points are passed.
func (t *talk) ask(r Request, within time.Duration) (Message, error) {
	t.asked = r
	b, err := json.Marshal(r)
	if err != nil {
		return Message{}, err
	}
	if err := t.p.send(append(b, '\n')); err != nil {
		return Message{}, fmt.Errorf("%s has ended, and should have taken %s: %s", t.name, r.Op, t.p.stderr.lastLines(3))
	}
	return t.outcome(within)
}

// outcome waits for the outcome of a request.
func (t *talk) outcome(within time.Duration) (Message, error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		select {
		case in, ok := <-t.p.lines:
			if !ok {
				return Message{}, fmt.Errorf("%s ended, and should have answered %s; on stderr it said: %s", t.name, t.asked.Op, t.p.stderr.lastLines(3))
			}
			m, err := Message{}, in.err
			if err == nil {
				m, err = parse(in.line)
			}
			t.said++
			if err != nil && in.from == 1 && t.said == 1 {
				t.said--
				continue // it prints; it may speak on descriptor 4
			}
			if err != nil {
				return Message{}, fmt.Errorf("line %d of what %s said, its answer to %s: %w", t.said, t.name, t.asked.Op, err)
			}
			t.p.chose(in.from)
			switch m.Type {
			case msgPoint:
				if err := t.p.send([]byte(`{"op":"continue"}` + "\n")); err != nil {
					return m, err
				}
			case string(history.OK), string(history.Fail), string(history.Info), msgClock:
				return m, nil
			}
		case <-late.C:
			return Message{}, fmt.Errorf("%s did not answer %s within %v", t.name, t.asked.Op, within)
		case <-t.kit.ctx.Done():
			return Message{}, context.Cause(t.kit.ctx)
		}
	}
}

// want asks, and wants one of some types for an answer.
func (t *talk) want(r Request, within time.Duration, types ...history.Type) (Message, error) {
	m, err := t.ask(r, within+answerWithin)
	if err != nil {
		return m, err
	}
	var allowed []string
	for _, typ := range types {
		if m.Type == string(typ) {
			return m, nil
		}
		allowed = append(allowed, fmt.Sprintf("%q", typ))
	}
	is := fmt.Sprintf("%q", m.Type)
	if m.Error != "" {
		is += fmt.Sprintf(" (%s)", m.Error)
	}
	return m, t.wrong("type", is, strings.Join(allowed, " or "))
}

// acquire asks for a key.
func (t *talk) acquire(key string, within time.Duration, types ...history.Type) (Message, error) {
	return t.want(Request{Op: opAcquire, Key: key, Within: within, WithinMS: inMS(within)}, within+conformTTL, types...)
}

func (t *talk) release(key string, granted Message, types ...history.Type) error {
	_, err := t.want(Request{Op: opRelease, Key: key, Token: granted.Value.Token}, conformTTL, types...)
	return err
}

func (k *kit) checkInit() error {
	_, m, err := k.begin("c1")
	if err != nil {
		return err
	}
	if err := m.Hello.Check(); err != nil {
		return err
	}
	if err := m.Lifespan.Fits(conformTTL); err != nil {
		return err
	}
	k.hello = m.Hello
	if m.Library == "" {
		k.note = `it does not say which library it tests: "library":"redis-py 4.3.4"`
	}
	return nil
}

func (k *kit) checkGrant() error {
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	for range 2 { // a lock that was released can be had again
		key := k.key()
		m, err := t.acquire(key, 2*time.Second, history.OK)
		if err != nil {
			return err
		}
		if err := t.checkLease(m); err != nil {
			return err
		}
		if err := t.release(key, m, history.OK); err != nil {
			return err
		}
	}
	return nil
}

// checkLease checks the lease in a grant.
func (t *talk) checkLease(m Message) error {
	left := m.Left
	switch {
	case (m.Left != 0) != (m.At != 0):
		return t.wrong("left, at", fmt.Sprintf("%d, %d", m.Left, m.At), "both or neither")
	case m.At != 0 && (left <= 0 || left > conformTTL):
		return t.wrong("left", fmt.Sprintf("%v", left), fmt.Sprintf("nanoseconds, above 0 and at most the TTL, %d", conformTTL.Nanoseconds()))
	case m.At != 0 && (m.At > monotonic() || monotonic()-m.At > int64(time.Minute)):
		return t.wrong("at", fmt.Sprint(m.At), fmt.Sprintf("what CLOCK_MONOTONIC shows in nanoseconds, about %d", monotonic()))
	case t.kit.hello.Has(workload.CanFence) && m.Value.Fence <= 0:
		return t.wrong("fence", fmt.Sprint(m.Value.Fence), "a fencing token above 0, as it says that it can \"fence\"")
	}
	return nil
}

func (k *kit) checkRefusal() error {
	one, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	other, _, err := k.begin("c2")
	if err != nil {
		return err
	}
	key := k.key()
	m, err := one.acquire(key, 2*time.Second, history.OK)
	if err != nil {
		return err
	}
	begun := time.Now()
	if _, err := other.acquire(key, 200*time.Millisecond, history.Fail, history.Info); err != nil {
		return fmt.Errorf("while c1 holds the lock: %w", err)
	}
	if took := time.Since(begun); took > 2*conformTTL {
		k.note = fmt.Sprintf("c2 gave up after %v, and was given 200ms (within_ms)", took.Round(time.Millisecond))
	}
	if err := one.release(key, m, history.OK); err != nil {
		return err
	}
	_, err = other.acquire(key, 3*time.Second, history.OK)
	return err
}

func (k *kit) checkExtend() error {
	t, key, m, err := k.holder()
	if err != nil {
		return err
	}
	longer, err := t.want(Request{Op: opExtend, Key: key, Token: m.Value.Token}, conformTTL, history.OK)
	if err != nil {
		return err
	}
	if was, is := m.Value.Token, longer.Value.Token; is != "" && is != was {
		return t.wrong("token", fmt.Sprintf("%q", is), fmt.Sprintf("%q, as it was, or nothing", was))
	}
	return t.release(key, m, history.OK)
}

// checkLost takes the key away, as a restart without persistence does, and has the client release it.
func (k *kit) checkLost() error {
	t, key, m, err := k.holder()
	if err != nil {
		return err
	}
	for _, master := range k.masters.Masters() {
		if err := errors.Join(master.Kill(k.ctx), master.Start(k.ctx)); err != nil {
			return err
		}
	}
	answer, err := t.want(Request{Op: opRelease, Key: key, Token: m.Value.Token}, conformTTL, history.OK, history.Fail, history.Info)
	if err == nil && answer.Type == string(history.OK) {
		k.note = "it says ok to the release of a key that the masters had forgotten: the library does not tell"
	}
	if err != nil {
		return err
	}
	return t.recovers()
}

// recovers has the client acquire another key within some attempts: its connections may have been lost.
func (t *talk) recovers() error {
	var m Message
	key := t.kit.key()
	for range 5 {
		var err error
		if m, err = t.acquire(key, 2*time.Second, history.OK, history.Fail, history.Info); err != nil {
			return err
		}
		if m.Type == string(history.OK) {
			return t.release(key, m, history.OK, history.Fail, history.Info)
		}
	}
	return fmt.Errorf("after its masters were back, %s was granted nothing in 5 attempts: its last answer was %s (%s)", t.name, m.Type, m.Error)
}

// checkUnknownFields: requests may have fields that a client does not know.
func (k *kit) checkUnknownFields() error {
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	key := k.key()
	t.asked = Request{Op: opAcquire}
	line := fmt.Sprintf(`{"op":"acquire","key":%q,"within":2000000000,"within_ms":2000,"later":{"a":[1,2]},"x-y":null}`+"\n", key)
	if err := t.p.send([]byte(line)); err != nil {
		return err
	}
	m, err := t.outcome(2*time.Second + answerWithin)
	if err != nil {
		return err
	}
	if m.Type != string(history.OK) {
		return t.wrong("type", m.Type+" ("+m.Error+")", `"ok": the request had fields that are not in the protocol, which are to be ignored`)
	}
	return t.release(key, m, history.OK)
}

// checkTimeout pauses all masters: the client must still answer.
func (k *kit) checkTimeout() error {
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	for _, m := range k.masters.Masters() {
		if err := m.Pause(k.ctx); err != nil {
			return err
		}
	}
	_, err = t.acquire(k.key(), time.Second, history.Fail, history.Info)
	for _, m := range k.masters.Masters() {
		err = errors.Join(err, m.Resume(k.ctx))
	}
	if err != nil {
		return fmt.Errorf("while no master answers: %w", err)
	}
	return t.recovers()
}

// checkStop stops the process, all of its group, while it has a request.
func (k *kit) checkStop() error {
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	t.p.signal(syscall.SIGSTOP)
	key := k.key()
	t.asked = Request{Op: opAcquire, Key: key, Within: 5 * time.Second, WithinMS: 5000}
	b, err := json.Marshal(t.asked)
	if err != nil {
		return err
	}
	if err := t.p.send(append(b, '\n')); err != nil {
		return err
	}
	time.AfterFunc(500*time.Millisecond, func() { t.p.signal(syscall.SIGCONT) })
	m, err := t.outcome(5*time.Second + answerWithin)
	if err != nil {
		return fmt.Errorf("after SIGSTOP and SIGCONT: %w", err)
	}
	if m.Type != string(history.OK) {
		return t.wrong("type", m.Type+" ("+m.Error+")", `"ok", after SIGSTOP and SIGCONT`)
	}
	return t.release(key, m, history.OK)
}

// checkKill kills a holder: its next life gets the lock when the TTL is over.
func (k *kit) checkKill() error {
	t, key, _, err := k.holder()
	if err != nil {
		return err
	}
	t.p.signal(syscall.SIGKILL)
	for range t.p.lines {
	}
	next, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	m, err := next.acquire(key, 3*conformTTL, history.OK, history.Fail, history.Info)
	if err != nil {
		return err
	}
	if m.Type == string(history.OK) {
		return next.release(key, m, history.OK)
	}
	if k.hello.Lease == workload.NoLease {
		return skipped{"the lock has no TTL: the key of a client that was killed stays"}
	}
	return next.wrong("type", m.Type+" ("+m.Error+")", fmt.Sprintf(`"ok": the client that held the lock was killed, and its TTL of %v is over`, conformTTL))
}

func (k *kit) checkClock() error {
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	m, err := t.ask(Request{Op: opClock, Rate: 2}, answerWithin)
	if err != nil {
		return err
	}
	if m.Type != msgClock || m.Value.Rate != 2 {
		return t.wrong("type, value.rate", fmt.Sprintf("%s, %v", m.Type, m.Value.Rate), `"clock", 2`)
	}
	return nil
}

// checkExit asks the process to exit, and another by the end of its stdin.
func (k *kit) checkExit() error {
	for _, how := range []string{`the request "exit"`, "the end of its stdin"} {
		t, _, err := k.begin("c1")
		if err != nil {
			return err
		}
		if how != "the end of its stdin" {
			if err := t.p.send([]byte(`{"op":"exit"}` + "\n")); err != nil {
				return err
			}
		}
		t.p.closeRequests()
		ended := make(chan struct{})
		go func() {
			for range t.p.lines {
			}
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(answerWithin):
			t.p.signal(syscall.SIGKILL)
			<-ended
			return fmt.Errorf("c1 did not end within %v of %s", answerWithin, how)
		}
		if s := t.p.cmd.ProcessState; s != nil && !s.Success() {
			return fmt.Errorf("after %s c1 ended with %v, want exit code 0; on stderr it said: %s", how, s, t.p.stderr.lastLines(3))
		}
	}
	return nil
}
