package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/redlock/protocol"
)

const ttl = time.Second

// kinds are the faults that the fake cluster can suffer, whose masters know nothing of each other.
var kinds = fault.NamesOn("sim")

// stage is where a nemesis acts in a test: in the virtual time of a synctest bubble, on
// masters and clients that do what the test has them do.
type stage struct {
	*Nemesis
	cluster *fakeCluster
	pauses  *fakePauses
	start   time.Time
	runtime protocol.RealTime
	history *history.Recorder
	mu      sync.Mutex
	ops     []history.Op
}

func on(t rapid.TB, masters, clients int, seed uint64) *stage {
	t.Helper()
	s := &stage{cluster: newCluster(masters), pauses: &fakePauses{}, start: time.Now()}
	var err error
	s.history, err = history.NewRecorder(io.Discard, history.Header{}, s.now)
	if err != nil {
		t.Fatal(err)
	}
	env := Env{
		Cluster: s.cluster, Pauses: s.pauses, Runtime: s.runtime, History: s.history, Start: s.start,
		Keys: func() []string { return []string{"k0", "k1"} }, TTL: ttl, Seed: seed, Running: context.Background(),
	}
	for i := range clients {
		env.Clients = append(env.Clients, fmt.Sprintf("c%d", i+1))
	}
	s.Nemesis = New(env)
	s.history.Observe(func(op history.Op) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ops = append(s.ops, op)
	})
	return s
}

func (s *stage) now() time.Duration { return time.Since(s.start) }

var errTimeUp = errors.New("time is up")

// ending is a context that ends after d.
func (s *stage) ending(d time.Duration) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	time.AfterFunc(d, func() { end(errTimeUp) })
	return ctx
}

// at has something happen at a time of the run.
func (s *stage) at(d time.Duration, f func()) { time.AfterFunc(d-s.now(), f) }

// grant has masters vote for a client's lease, which it then has for a TTL.
func (s *stage) grant(client, key, token string, voters ...string) {
	for _, m := range voters {
		s.cluster.master(m).store(key, token)
		s.history.Record(history.Op{Process: m, Type: history.OK, F: history.FVote, Key: key, Value: &history.Value{Client: client, Token: token, Command: history.CommandSet, Yes: true}})
	}
	s.history.Record(history.Op{Process: client, Type: history.OK, F: history.FAcquire, Key: key, Value: &history.Value{Token: token, ValidUntil: s.now() + ttl}})
}

func (s *stage) release(client, key, token string) {
	s.history.Record(history.Op{Process: client, Type: history.Invoke, F: history.FRelease, Key: key, Value: &history.Value{Token: token}})
	s.history.Record(history.Op{Process: client, Type: history.OK, F: history.FRelease, Key: key, Value: &history.Value{Token: token}})
}

// ask has a client send a lock command to a master. What does not get through to one
// that is up has no reply.
func (s *stage) ask(client, master string) {
	const took = time.Millisecond
	op := history.Op{Process: master, Type: history.OK, F: history.FVote, Key: "k0", Value: &history.Value{Client: client, Token: "none", Command: history.CommandRelease, Took: took + 2*s.cluster.link(client, master).Fault().Delay}}
	if got := s.cluster.link(client, master).send(10); !got || s.cluster.master(master).State() != cluster.Up {
		op.Type, op.Error = history.Info, "i/o timeout"
	}
	s.history.Record(op)
}

// recorded are the operations so far.
func (s *stage) recorded() []history.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ops)
}

// faults are those of the history so far, each known to be recorded in order.
func (s *stage) faults(t rapid.TB) []*history.Fault {
	t.Helper()
	lines := map[int][]string{}
	ops := s.recorded()
	for _, op := range ops {
		if op.Process == history.Nemesis {
			lines[op.Value.ID] = append(lines[op.Value.ID], op.Value.Phase+" "+string(op.Type))
			if (op.Type == history.Fail || op.Type == history.Info) != (op.Error != "") {
				t.Errorf("%s: an error where there is none, or none where there is one", line(op))
			}
		}
	}
	ids := slices.Sorted(maps.Keys(lines))
	for i, id := range ids {
		if id != i+1 {
			t.Errorf("fault %d has the id %d", i+1, id)
		}
		switch got := strings.Join(lines[id], ", "); got {
		case "install invoke, install fail", "install invoke, install ok, heal invoke, heal ok", "install invoke, install ok, heal invoke, heal info":
		default:
			t.Errorf("fault %d is recorded as %s", id, got)
		}
	}
	return history.Faults(ops)
}

// settled complains if anything is still installed.
func (s *stage) settled(t rapid.TB) {
	t.Helper()
	if hurt := s.cluster.hurt(); len(hurt) > 0 {
		t.Errorf("not healed: %s", strings.Join(hurt, ", "))
	}
	if n := s.pauses.open(); n > 0 {
		t.Errorf("%d orders to stop clients are left", n)
	}
	if active := s.Active(); len(active) > 0 {
		t.Errorf("still active: %v", active)
	}
}

// fakePauses takes orders, and stops whom the test has pass.
type fakePauses struct {
	mu     sync.Mutex
	orders []*fakeOrder
	clocks map[string]cluster.Clock
	deaf   string // a client that does not hear what its clocks are to be
}

type fakeOrder struct {
	clients []string
	point   string
	stopped []string
}

func (p *fakePauses) Stop(clients []string, point string) func() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &fakeOrder{clients: clients, point: point}
	p.orders = append(p.orders, o)
	return func() []string {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.orders = slices.DeleteFunc(p.orders, func(x *fakeOrder) bool { return x == o })
		return o.stopped
	}
}

func (p *fakePauses) Kill(clients []string, point string) func() []string {
	return p.Stop(clients, point)
}

func (p *fakePauses) SetClock(client string, to cluster.Clock) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clocks == nil {
		p.clocks = map[string]cluster.Clock{}
	}
	if client != p.deaf {
		p.clocks[client] = to
	}
	return nil
}

func (p *fakePauses) setDeaf(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = client
}

func (p *fakePauses) Clock(client string) cluster.Clock {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clocks[client]
}

func (p *fakePauses) pass(client, point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.orders {
		if o.point == point && (len(o.clients) == 0 && len(o.stopped) == 0 || slices.Contains(o.clients, client)) {
			o.stopped = append(o.stopped, client)
			return
		}
	}
}

func (p *fakePauses) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.orders)
}

// line prints an operation of the nemesis, or a master's state.
func line(op history.Op) string {
	var b strings.Builder
	v := op.Value
	fmt.Fprintf(&b, "%-8v %-7s ", op.Time, op.Process)
	switch {
	case op.F == history.FState:
		fmt.Fprintf(&b, "%s", v.State)
		if v.Keys != nil {
			fmt.Fprintf(&b, ", stores %v", v.Keys)
		}
	case op.Process == history.Nemesis:
		fmt.Fprintf(&b, "%-6s %-7s %s %d", op.Type, v.Phase, op.F, v.ID)
		for _, names := range [][]string{v.Masters, v.Clients} {
			if len(names) > 0 {
				fmt.Fprintf(&b, " of %s", strings.Join(names, " "))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(v.Params)) {
			if op.Type == history.Invoke && v.Phase == history.PhaseInstall {
				fmt.Fprintf(&b, " %s=%q", k, v.Params[k])
			}
		}
		if v.TookEffect {
			b.WriteString(", took effect")
		}
		if v.Evidence != "" {
			fmt.Fprintf(&b, ": %s", v.Evidence)
		}
	default:
		fmt.Fprintf(&b, "%s %s %s", op.Type, op.F, op.Key)
	}
	if op.Error != "" {
		fmt.Fprintf(&b, " (%s)", strings.ReplaceAll(op.Error, "\n", "; "))
	}
	return b.String()
}
