package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"lockpick/history"
	"lockpick/workload"
)

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
	for range 2 { // a lock that was released can be acquired again
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

// checkLost deletes the key, as a restart without persistence does, and makes the client
// release it.
func (k *kit) checkLost() error {
	if k.Keeps {
		return skipped{"its servers keep their locks when they are started anew"}
	}
	t, key, m, err := k.holder()
	if err != nil {
		return err
	}
	for _, master := range k.Masters.Masters() {
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

// checkUnknownFields sends requests with fields that the client does not know.
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
	for _, m := range k.Masters.Masters() {
		if err := m.Pause(k.ctx); err != nil {
			return err
		}
	}
	_, err = t.acquire(k.key(), time.Second, history.Fail, history.Info)
	for _, m := range k.Masters.Masters() {
		err = errors.Join(err, m.Resume(k.ctx))
	}
	if err != nil {
		return fmt.Errorf("while no master answers: %w", err)
	}
	return t.recovers()
}

// checkDown kills all masters: the client must still answer, although its connections are refused or reset.
func (k *kit) checkDown() error {
	t, key, m, err := k.holder()
	if err != nil {
		return err
	}
	if err := t.release(key, m, history.OK); err != nil {
		return err
	}
	for _, m := range k.Masters.Masters() {
		if err := m.Kill(k.ctx); err != nil {
			return err
		}
	}
	for range 10 { // on the connection that has ended, and on new ones: a client may see them open, refused or reset
		if _, err = t.acquire(k.key(), 200*time.Millisecond, history.Fail, history.Info); err != nil {
			break
		}
	}
	for _, m := range k.Masters.Masters() {
		err = errors.Join(err, m.Start(k.ctx))
	}
	if err != nil {
		return fmt.Errorf("while all masters are down: %w", err)
	}
	return t.recovers()
}

// checkStop stops the process and its group during a request.
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

// checkKill kills a holder: its successor must acquire the lock after the TTL.
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

// checkExit asks one process to exit, and ends another one by the end of its stdin.
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
