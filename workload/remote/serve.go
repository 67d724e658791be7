package remote

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// Serve runs a client process: it reads requests from in and writes answers to out, until a
// request to exit or the end of in. The error names the line that it could not understand.
func Serve(in io.Reader, out io.Writer) error {
	s := &server{in: bufio.NewScanner(in), out: json.NewEncoder(out), clock: workload.NewClock(protocol.RealTime{}), requests: make(chan line), leases: map[string]workload.Lease{}}
	s.in.Buffer(nil, 1<<20)
	s.listening, s.end = context.WithCancelCause(context.Background())
	defer s.close()
	go s.read()
	for {
		r, err := s.next()
		if errors.Is(err, io.EOF) || r.Op == opExit {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.answer(r); err != nil {
			return err
		}
	}
}

type server struct {
	in     *bufio.Scanner
	mu     sync.Mutex // guards out, because votes can be written at any time
	out    *json.Encoder
	init   Request
	clock  *workload.Clock
	lock   workload.Lock
	broken error // the reason why it serves no more requests

	skewing sync.Mutex // held while a clock is being changed: no end of a lease is reported meanwhile
	leases  map[string]workload.Lease

	requests  chan line       // closed at the end of in
	listening context.Context // ends with in, or with the conversation
	end       context.CancelCauseFunc
}

var (
	errInEnded = errors.New("nobody asks any more")
	errServed  = errors.New("the conversation is over")
)

// line is a request, or the error in a line.
type line struct {
	request Request
	err     error
}

func (s *server) close() {
	s.end(errServed)
	if s.lock != nil {
		s.lock.Close()
	}
}

// read reads requests until in ends. It changes the clocks at once, even while the client
// executes another request. At the end of in, it ends the conversation at once, because the
// harness no longer reads answers.
func (s *server) read() {
	defer close(s.requests)
	defer s.end(errInEnded)
	for n := 1; s.in.Scan(); n++ {
		var r Request
		if err := json.Unmarshal(s.in.Bytes(), &r); err != nil {
			s.pass(line{err: fmt.Errorf("request %d is not one JSON object: %w", n, err)})
			return
		}
		if r.Op != opClock {
			if !s.pass(line{request: r}) {
				return
			}
			continue
		}
		if !(r.Rate > 0) {
			s.pass(line{err: fmt.Errorf("request %d: a clock cannot run at the rate %v: it must be above 0", n, r.Rate)})
			return
		}
		s.skew(cluster.Clock{Rate: r.Rate, Offset: r.Offset})
	}
	if err := s.in.Err(); err != nil {
		s.pass(line{err: fmt.Errorf("read the next request: %w", err)})
	}
}

// skew sets the clocks. It first reports the new ends of the leases whose end changes, and then
// that the clocks are set.
func (s *server) skew(to cluster.Clock) {
	s.skewing.Lock()
	defer s.skewing.Unlock()
	before := map[string]time.Time{}
	for token, l := range s.leases {
		before[token] = s.clock.True(l.Until())
	}
	s.clock.Set(to)
	for _, token := range slices.Sorted(maps.Keys(s.leases)) {
		l := s.leases[token]
		at := monotonic()
		until := s.clock.True(l.Until())
		if l.Context().Err() != nil || until.Sub(before[token]).Abs() < time.Microsecond { // a difference of rounding
			continue
		}
		s.say(Message{Type: msgValid, Value: &history.Value{Token: token}, Left: time.Until(until), At: at})
	}
	v := &history.Value{Rate: to.Rate}
	if to.Offset != 0 {
		v.Offset = &to.Offset
	}
	s.say(Message{Type: msgClock, Value: v})
}

// pass passes a line to the goroutine that serves it, unless the conversation is over.
func (s *server) pass(l line) bool {
	select {
	case s.requests <- l:
		return true
	case <-s.listening.Done():
		return false
	}
}

func (s *server) next() (Request, error) {
	if s.broken != nil {
		return Request{}, s.broken
	}
	l, ok := <-s.requests
	if !ok {
		return Request{}, io.EOF
	}
	return l.request, l.err
}

func (s *server) say(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(m) // if the harness does not read any more, the next read of in shows that
}

// outcome ends a request.
func (s *server) outcome(m Message, err error) {
	m.Type = string(history.OK)
	if err != nil {
		m.Type, m.Error = string(workload.Outcome(err)), err.Error()
	}
	s.say(m)
}

func (s *server) answer(r Request) error {
	if s.lock == nil && r.Op != opInit {
		return fmt.Errorf("request %q came before init", r.Op)
	}
	switch r.Op {
	case opInit:
		return s.start(r)
	case opAcquire:
		s.acquire(r)
	case opExtend:
		s.withLease(r, func(l workload.Lease) error {
			extend := l.Extend
			if m, ok := l.(workload.ModeChanger); ok && r.Mode != "" {
				extend = func(ctx context.Context) (workload.Lease, error) { return m.ChangeMode(ctx, r.Mode) }
			}
			longer, err := extend(context.Background())
			switch {
			case err == nil:
				s.granted(r.Key, longer)
			case l.Context().Err() == nil: // the lease stays valid
				s.skewing.Lock()
				defer s.skewing.Unlock()
				at := monotonic()
				s.outcome(Message{Left: time.Until(s.clock.True(l.Until())), At: at}, err)
			default:
				return err
			}
			return nil
		})
	case opRelease:
		s.withLease(r, func(l workload.Lease) error {
			s.skewing.Lock()
			delete(s.leases, r.Token)
			s.skewing.Unlock()
			err := l.Release(context.Background())
			if err == nil {
				s.outcome(Message{}, nil)
			}
			return err
		})
	case opWrite:
		s.withLease(r, func(l workload.Lease) error { return s.write(r, l) })
	case opContinue:
		return errors.New("request \"continue\" came at no point")
	default:
		return fmt.Errorf("request %q is unknown: it is one of init, acquire, extend, release, write, clock, continue, exit", r.Op)
	}
	return nil
}

func (s *server) start(r Request) error {
	if s.lock != nil {
		return errors.New("request \"init\" came twice")
	}
	kind, ok := workload.LockNamed(r.Lock)
	if !ok {
		s.refuse(fmt.Errorf("lock %q is unknown: use one of %v, or one that is wrong on purpose (lockpick list locks)", r.Lock, workload.CorrectNames()))
		return nil
	}
	lock, err := kind.New(workload.Env{
		Kind: r.Kind, Permits: r.Permits,
		Access: cluster.Access{User: r.User, Password: r.Password, CA: r.CA},
		Client: r.Client, Addrs: r.Masters, Runtime: s.clock, TTL: r.TTL, Timeout: r.Timeout, Fencing: r.Fencing, Wait: r.Wait,
		Pass:    func(point, key string) bool { return s.reach(point, key) == nil },
		Renewed: s.renewed,
		Ended: func(key, token string, cause error) {
			s.say(Message{Type: msgEnded, Key: key, Error: cause.Error(), Value: &history.Value{Token: token}})
		},
		Hooks: redlock.Hooks{
			Vote: func(v protocol.Vote) {
				op := workload.VoteOp(r.Client, v, r.Fencing)
				m := Message{Type: msgVote, Key: op.Key, Error: op.Error, Replied: v.Failed(), Value: op.Value, At: int64(v.Master), When: monotonic()}
				if !v.At.IsZero() {
					m.When -= int64(time.Since(v.At))
				}
				s.say(m)
			},
			Decided: func(d redlock.Decision) {
				if d.Purpose == protocol.Set && d.Yes >= d.Quorum {
					_ = s.reach(workload.AfterQuorum, d.Key)
				}
			},
			Ended: func(l *redlock.Lease, cause error) {
				s.say(Message{Type: msgEnded, Key: l.Key(), Error: cause.Error(), Value: &history.Value{Token: l.Token()}})
			},
		},
	})
	if err != nil {
		s.refuse(err)
		return nil
	}
	s.init, s.lock = r, lock
	can := slices.DeleteFunc(slices.Clone(workload.Abilities), func(a string) bool {
		return a == workload.CanShare || (a == workload.CanDowngrade || a == workload.CanUpgrade) && kind.Kind != history.ReadWrite
	})
	s.outcome(Message{Hello: Hello{Kind: cmp.Or(r.Kind, kind.Kind), Can: can, Library: "lockpick " + r.Lock, Lifespan: &workload.Lifespan{UnitMS: 1e-6}}}, nil)
	return nil
}

// renewed reports a lease that the lock has extended without a call.
func (s *server) renewed(key string, l workload.Lease) {
	s.skewing.Lock()
	defer s.skewing.Unlock()
	at := monotonic()
	s.say(Message{Type: msgRenewed, Key: key, Value: &history.Value{Token: l.Token()}, Left: time.Until(s.clock.True(l.Until())), At: at})
}

// refuse answers that the requested operation certainly did not happen.
func (s *server) refuse(err error) {
	s.say(Message{Type: string(history.Fail), Error: err.Error()})
}

// reach reports that the client is at a point, and waits for continue. The harness may stop the
// whole process meanwhile. The error is the reason why continue will not come.
func (s *server) reach(point, key string) error {
	s.say(Message{Type: msgPoint, Key: key, Value: &history.Value{Point: point}})
	r, err := s.next()
	if err == nil && r.Op == opExit {
		err = io.EOF
	}
	if err == nil && r.Op != opContinue {
		err = fmt.Errorf("request %q came at the point %s, at which only continue may", r.Op, point)
	}
	if err != nil {
		s.broken = err
		s.end(err)
	}
	return err
}

func (s *server) acquire(r Request) {
	ctx, cancel := context.WithTimeoutCause(s.listening, r.Within, fmt.Errorf("not acquired within %v", r.Within))
	defer cancel()
	key := r.Key
	if len(r.Keys) > 1 {
		key = workload.KeySet(r.Keys)
	}
	lease, err := workload.AcquireShare(ctx, s.lock, key, workload.Share{Mode: r.Mode, Permits: r.Permits})
	if err != nil {
		s.refuse(err)
		return
	}
	s.granted(r.Key, lease)
}

// granted answers with a lease and its remaining validity at this moment.
func (s *server) granted(key string, l workload.Lease) {
	s.skewing.Lock()
	defer s.skewing.Unlock()
	s.leases[l.Token()] = l
	at := monotonic()
	left := time.Until(s.clock.True(l.Until()))
	s.outcome(Message{Key: key, Value: &history.Value{Token: l.Token(), Fence: l.Fence()}, Left: left, At: at}, nil)
}

func (s *server) withLease(r Request, f func(workload.Lease) error) {
	s.skewing.Lock()
	l, ok := s.leases[r.Token]
	s.skewing.Unlock()
	if !ok {
		s.outcome(Message{}, fmt.Errorf("%w: no lease has the token %q", redlock.ErrNotHeld, r.Token))
		return
	}
	if err := f(l); err != nil {
		s.outcome(Message{}, err)
	}
}

// write checks the lease, sends the token if mark is set, and then sends the write. No lease
// can protect the time between the check and the write.
func (s *server) write(r Request, l workload.Lease) error {
	if l.Until().Sub(s.clock.Now()) <= s.init.Margin || l.Context().Err() != nil {
		return fmt.Errorf("%w: not written", redlock.ErrExpired)
	}
	if r.Mark {
		if err := s.reach(workload.BeforeMark, r.Key); err != nil {
			return fmt.Errorf("%w: not written: %w", redlock.ErrNotHeld, err)
		}
		s.say(Message{Type: msgMark, Key: r.Key, Value: &history.Value{Token: r.Token}})
	}
	if err := s.reach(workload.BeforeWrite, r.Key); err != nil {
		return fmt.Errorf("%w: not written: %w", redlock.ErrNotHeld, err)
	}
	s.say(Message{Type: msgApply, Key: r.Key, Value: &history.Value{Token: r.Token, Fence: l.Fence(), Value: r.Value}})
	s.outcome(Message{}, nil)
	return nil
}
