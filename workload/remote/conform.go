package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/workload"
)

// CheckResult is the result of one conformance check of a client.
type CheckResult struct {
	Name    string
	Problem string // the line, the field and the expected value; empty: none
	Skipped string // the reason why the check was skipped; empty: it was not
	Note    string // a remark that is not a fault
}

// Conformance checks whether a command keeps to the protocol, by scripted exchanges between it and real servers.
type Conformance struct {
	Command []string
	Masters cluster.Cluster // or the servers of a service: a cluster of its own
	Keeps   bool            // they still have the locks when they are started anew
	// Clocks makes the clocks of a client that cannot skew its own (as Command.Clocks).
	Clocks func() (workload.ProgramClocks, error)
	// Observe is given each link of a client to a master (0 is m1) before the client uses it; nil: nobody observes them.
	Observe func(master int, link cluster.Link)
	// Env returns what a process needs in its environment to reach the servers at these addresses; nil: nothing.
	Env func(addrs []string) ([]string, error)
}

// Run passes the result of each check to tell. The error is the reason why nothing could be checked.
func (c Conformance) Run(ctx context.Context, tell func(CheckResult)) error {
	k := &kit{Conformance: c, ctx: ctx}
	defer k.endAll()
	all := slices.Clone(conformance)
	for i := 0; i < len(all); i++ {
		c := all[i]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := CheckResult{Name: c.name}
		if c.needs != "" && !k.hello.Has(c.needs) {
			f.Skipped = fmt.Sprintf("the client does not list %q in \"can\"", c.needs)
			tell(f)
			continue
		}
		k.note = ""
		err := c.run(k)
		if ctx.Err() != nil { // whatever the check says of the client
			return context.Cause(ctx)
		}
		f.Note = k.note
		var skip skipped
		switch {
		case errors.As(err, &skip):
			f.Skipped = skip.why
		case err != nil:
			f.Problem = err.Error()
		}
		tell(f)
		if c.name == "init" {
			if err != nil {
				return nil // no other check is possible
			}
			all = append(all, conformanceOf[k.hello.Kind]...)
		}
		k.endAll()
	}
	return nil
}

// check is one of the checks.
type check struct {
	name, needs string
	run         func(*kit) error
}

// conformanceOf lists the checks of locks of one kind, which come last.
var conformanceOf = map[history.LockKind][]check{
	history.ReadWrite: {{"downgrade", workload.CanDowngrade, (*kit).checkDowngrade}, {"upgrade", workload.CanUpgrade, (*kit).checkUpgrade}},
	history.Multi:     {{"several keys", "", (*kit).checkSeveralKeys}},
}

// conformance lists the checks of all locks, in order.
var conformance = []check{
	{"init", "", (*kit).checkInit},
	{"grant and release", "", (*kit).checkGrant},
	{"refusal, and grant after a release", "", (*kit).checkRefusal},
	{"extend", workload.CanExtend, (*kit).checkExtend},
	{"release of what is gone", "", (*kit).checkLost},
	{"fields that are not known", "", (*kit).checkUnknownFields},
	{"a master that does not answer", "", (*kit).checkTimeout},
	{"a master that is down", "", (*kit).checkDown},
	{"stop and continue", "", (*kit).checkStop},
	{"kill, and the next life", "", (*kit).checkKill},
	{"several threads", workload.CanShare, (*kit).checkShared},
	{"a skewed clock", "", (*kit).checkClock},
	{"exit", "", (*kit).checkExit},
}

// kit is a running check.
type kit struct {
	Conformance
	ctx   context.Context
	env   []string // environment of the processes that begin
	hello Hello
	note  string
	open  []*talk
	keys  int
}

// skipped is the reason why a check was skipped.
type skipped struct{ why string }

func (s skipped) Error() string { return s.why }

// talk is a conversation with one process.
type talk struct {
	kit   *kit
	name  string
	p     *child
	said  int // number of lines so far
	asked Request
}

// conformTTL is the TTL of the leases: whole seconds, because some libraries need that.
const conformTTL = 2 * time.Second

// answerWithin limits the additional time for an answer, beyond the time of the request.
const answerWithin = 10 * time.Second

func (k *kit) begin(client string) (*talk, Message, error) {
	t := &talk{kit: k, name: client}
	var addrs []string
	for i := range k.Masters.Masters() {
		link, err := k.Masters.Link(client, i)
		if err != nil {
			return nil, Message{}, err
		}
		link.Set(cluster.LinkFault{})
		if k.Observe != nil {
			k.Observe(i, link)
		}
		addrs = append(addrs, link.Addr())
	}
	env := slices.Clone(k.env)
	if traced, ok := k.Masters.(cluster.Traced); ok {
		env = append(env, traced.Mark(client))
	}
	if k.Env != nil {
		variables, err := k.Env(addrs)
		if err != nil {
			return nil, Message{}, err
		}
		env = append(env, variables...)
	}
	var err error
	if t.p, err = spawn(k.Command, env, nil); err != nil {
		return nil, Message{}, err
	}
	k.open = append(k.open, t)
	m, err := t.ask(Request{Op: opInit, Protocol: ProtocolVersion, Client: client, Lock: "check", Reached: reached(addrs, cluster.Access{}), TTL: conformTTL, TTLMS: inMS(conformTTL)}, startWithin+answerWithin)
	if err == nil && m.Type != string(history.OK) {
		err = t.wrong("type", m.Type+" ("+m.Error+")", `"ok"`)
	}
	return t, m, err
}

// holder starts a client and makes it acquire a new key.
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

// key returns a key that no check has used.
func (k *kit) key() string {
	k.keys++
	return fmt.Sprintf("check%d", k.keys)
}

// wrong returns an error about a field of the last line.
func (t *talk) wrong(field, is, want string) error {
	return fmt.Errorf("line %d of what %s said, its answer to %s: %s is %s, want %s", t.said, t.name, t.asked.Op, field, is, want)
}

// ask sends a request and returns its outcome. At points it tells the client to continue.
func (t *talk) ask(r Request, within time.Duration) (Message, error) {
	if err := t.write(r); err != nil {
		return Message{}, err
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
				continue // the program prints; it can use descriptor 4
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

// want sends a request, and returns an error unless the answer has one of the types.
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

// acquire sends a request to acquire a key.
func (t *talk) acquire(key string, within time.Duration, types ...history.Type) (Message, error) {
	return t.want(Request{Op: opAcquire, Key: key, Within: within, WithinMS: inMS(within)}, within+conformTTL, types...)
}

func (t *talk) release(key string, granted Message, types ...history.Type) error {
	_, err := t.want(Request{Op: opRelease, Key: key, Token: granted.Value.Token}, conformTTL, types...)
	return err
}

// recoverWithin is how long a client may need before it is granted a lock again. Some libraries have a circuit
// breaker, which refuses commands for ten seconds.
const recoverWithin = 20 * time.Second

// recovers makes the client acquire another key, again and again because its connections may have been lost. The pauses
// grow: a circuit breaker that counts what it refuses stays open for as long as somebody asks ten times a second.
func (t *talk) recovers() error {
	key, pause := t.kit.key(), 100*time.Millisecond // some refuse at once
	for began := time.Now(); ; pause = min(2*pause, 2*time.Second) {
		m, err := t.acquire(key, 2*time.Second, history.OK, history.Fail, history.Info)
		switch {
		case err != nil:
			return err
		case m.Type == string(history.OK):
			return t.release(key, m, history.OK, history.Fail, history.Info)
		case time.Since(began) > recoverWithin:
			return fmt.Errorf("after its masters were back, %s was granted nothing within %v: its last answer was %s (%s)", t.name, recoverWithin, m.Type, m.Error)
		}
		select {
		case <-time.After(pause):
		case <-t.kit.ctx.Done():
			return context.Cause(t.kit.ctx)
		}
	}
}
