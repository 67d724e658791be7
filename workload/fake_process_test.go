package workload

import (
	"context"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// fakeProcess is a fake lock whose client is a process of its own: it can end anywhere,
// has a clock, and writes by itself.
type fakeProcess struct {
	*fakeLock
	clock    *Clock
	deadline func(context.Context) // sees the context of each acquire; may be nil
	points   bool                  // it passes AfterQuorum
	hangs    bool                  // it answers no acquire
	signals  []string

	mu     sync.Mutex
	gone   bool
	leases []*fakeLease
}

// processes is a lock under test whose clients are fake processes; made keeps them all.
func processes(made *[]*fakeProcess, prepare func(*fakeProcess)) Implementation {
	return Implementation{Name: "fake", Fencing: true, New: func(s Env) (Lock, error) {
		p := &fakeProcess{fakeLock: &fakeLock{env: s}, clock: NewClock(protocol.RealTime{})}
		p.env.Runtime = protocol.RealTime{} // the ends of its leases are in true time
		prepare(p)
		*made = append(*made, p)
		return p, nil
	}}
}

func (p *fakeProcess) Acquire(ctx context.Context, key string) (Lease, error) {
	if p.deadline != nil {
		p.deadline(ctx)
	}
	for p.hangs && p.is() == nil {
		_ = p.env.Runtime.Sleep(context.Background(), time.Second)
	}
	l, err := p.fakeLock.Acquire(ctx, key)
	if p.points && err == nil {
		p.env.Pass(AfterQuorum, key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	return p.granted(l, key), nil
}

// granted has the lease last for its TTL by the process's clock from now on.
func (p *fakeProcess) granted(l Lease, key string) Lease {
	lease := l.(*fakeLease)
	lease.until = p.clock.True(p.clock.Now().Add(p.env.TTL))
	p.leases = append(p.leases, lease)
	return processLease{lease, p, key}
}

func (p *fakeProcess) SetClock(to cluster.Clock) (now bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return false, ErrGone
	}
	var shows []time.Time
	for _, l := range p.leases {
		shows = append(shows, p.clock.shows(l.until))
	}
	p.clock.Set(to)
	for i, l := range p.leases {
		l.until = p.clock.True(shows[i])
	}
	p.env.Runtime.Go(func() { p.env.Skewed(to) })
	return false, nil
}

func (p *fakeProcess) LastWords() string { return "alas" }

func (p *fakeProcess) Stop()     { p.signals = append(p.signals, "stop") }
func (p *fakeProcess) Continue() { p.signals = append(p.signals, "continue") }

func (p *fakeProcess) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signals = append(p.signals, "kill")
	p.gone = true
	for _, l := range p.leases {
		l.end(ErrGone)
	}
}

func (p *fakeProcess) is() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return ErrGone
	}
	return nil
}

type processLease struct {
	*fakeLease
	process *fakeProcess
	key     string
}

func (l processLease) Until() time.Time {
	l.process.mu.Lock()
	defer l.process.mu.Unlock()
	return l.until
}

func (l processLease) Extend(ctx context.Context) (Lease, error) {
	if err := l.process.is(); err != nil {
		return nil, err
	}
	longer, err := l.fakeLease.Extend(ctx)
	if err != nil {
		return nil, err
	}
	l.process.mu.Lock()
	defer l.process.mu.Unlock()
	return l.process.granted(longer, l.key), nil
}

func (l processLease) Release(ctx context.Context) error {
	if err := l.process.is(); err != nil {
		return err
	}
	return l.fakeLease.Release(ctx)
}

func (l processLease) Write(value int64, mark bool) error {
	if err := l.process.is(); err != nil {
		return err
	}
	if !l.process.env.Runtime.Now().Before(l.Until()) {
		return redlock.ErrExpired
	}
	if mark {
		l.process.env.Pass(BeforeMark, l.key)
		l.process.env.Mark(l.key, l.token)
	}
	l.process.env.Pass(BeforeWrite, l.key)
	if err := l.process.is(); err != nil {
		return err
	}
	return l.process.env.Apply(l.key, l.token, l.fence, value)
}

// steps are what a client did at first, without times.
func steps(ops []history.Op) []string {
	var s []string
	for _, op := range ops[:min(20, len(ops))] {
		s = append(s, op.F+" "+string(op.Type))
	}
	return s
}
