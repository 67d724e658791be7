package workload

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
	"lockpick/redlock/protocol"
)

// stage is where a workload runs in a test: in the virtual time of a synctest bubble,
// with its history at hand.
type stage struct {
	*Workload
	runtime protocol.Runtime
	start   time.Time
	mu      sync.Mutex   // for ops
	ops     []history.Op // to be read when the clients have stopped
	seen    func(history.Op)
}

// on makes a workload in the bubble that t belongs to. env may be nil.
func on(t rapid.TB, cfg Config, env func(client string) (Env, error)) *stage {
	t.Helper()
	if env == nil {
		env = func(string) (Env, error) { return Env{}, nil }
	}
	s := &stage{runtime: protocol.RealTime{}}
	s.start = s.runtime.Now()
	rec, err := history.NewRecorder(io.Discard, history.Header{}, func() time.Duration { return s.runtime.Now().Sub(s.start) })
	if err != nil {
		t.Fatal(err)
	}
	rec.Observe(func(op history.Op) {
		s.mu.Lock()
		s.ops = append(s.ops, op)
		s.mu.Unlock()
		if s.seen != nil {
			s.seen(op)
		}
	})
	s.Workload, err = New(cfg, s.runtime, rec, s.start, env)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	return s
}

var errTimeUp = fmt.Errorf("time is up")

// ending is a context that ends after d.
func (s *stage) ending(d time.Duration) context.Context {
	ctx, end := s.runtime.WithCancelCause(context.Background())
	s.runtime.AfterFunc(d, func() { end(errTimeUp) })
	return ctx
}

// recorded are the operations so far: calls that hang may record yet.
func (s *stage) recorded() []history.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ops)
}

// of are the operations of one process.
func (s *stage) of(process string) []history.Op {
	var ops []history.Op
	for _, op := range s.recorded() {
		if op.Process == process {
			ops = append(ops, op)
		}
	}
	return ops
}

// on protocol.Masters, the same for every client.
func share(m protocol.Masters) func(string) (Env, error) {
	return func(string) (Env, error) { return Env{Masters: m}, nil }
}

// line prints an operation without its index.
func line(op history.Op) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12v %-8s %-6s %-7s %s", op.Time, op.Process, op.Type, op.F, op.Key)
	if v := op.Value; v != nil {
		for _, x := range []struct {
			name string
			v    any
			set  bool
		}{
			{"token", v.Token, v.Token != ""}, {"until", v.ValidUntil, v.ValidUntil != 0}, {"fence", v.Fence, v.Fence != 0},
			{"value", v.Value, v.Value != 0}, {"fenced", v.Fenced, v.Fenced}, {"client", v.Client, v.Client != ""},
			{"rate", v.Rate, v.Rate != 0}, {"command", v.Command, v.Command != ""}, {"yes", v.Yes, v.Yes}, {"took", v.Took, v.Took != 0}, {"point", v.Point, v.Point != ""},
		} {
			if x.set {
				fmt.Fprintf(&b, " %s=%v", x.name, x.v)
			}
		}
	}
	if op.Error != "" {
		fmt.Fprintf(&b, " error=%q", op.Error)
	}
	return strings.TrimRight(b.String(), " ")
}
