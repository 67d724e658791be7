package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// Config describes the clients, the lock and the work that the clients do.
type Config struct {
	Lock           Implementation
	Clients        int
	Keys           int
	KeyPrefix      string // begins the names of all keys
	TTL            time.Duration
	TTLs           map[string]time.Duration // TTLs of clients that differ from TTL
	Timeout        time.Duration            // per master; 0: the lock's default
	HoldMin        time.Duration            // a critical section lasts from HoldMin to HoldMax
	HoldMax        time.Duration            // if the lease allows that
	LongHolds      float64                  // except for this fraction, which lasts 0.8 to 1.5 TTL
	Extend         float64                  // probability of extending a lease that is too short (for any other: a fifth)
	Think          time.Duration            // the longest pause between two acquires of a client
	Arrivals       []Arrival                // times at which clients acquire; empty: again and again
	AcquireTimeout time.Duration            // limit for one acquire
	Fencing        bool
	Permits        int      // of a semaphore
	Readers        float64  // share of the acquires of a read-write lock that read
	Protocol       Protocol // how clients use the guarded resource; empty: Register
	Usages         []Usage  // mistakes that clients make
	Processes      bool     // Lock.New starts a process
	Wait           int      // number of replicas that must have a key before a master's vote counts
	Seed           uint64
	Source         func(seed, stream uint64) rand.Source // makes a source of random numbers; nil: PCG

	// OwnPanic reports whether a panic's value belongs to the runtime and not to the lock; nil: no
	// value does.
	OwnPanic func(value any) bool
}

// margin returns how long before the end of its validity a client stops relying on a lease: the
// time for its actions between the check and their effect.
func (c *Config) margin() time.Duration { return c.TTL / 20 }

// Workload runs the clients of one run.
type Workload struct {
	Pauses *Pauses

	config   Config
	runtime  protocol.Runtime
	recorder *history.Recorder
	start    time.Time
	resource *Resource
	keys     []string
	clients  []*client
	env      func(client string) (Env, error)

	mu    sync.Mutex
	err   error
	phase *phase // the latest phase
}

// New makes the clients, but not their locks (see Open). env gives each client the masters for its
// lock. start is the beginning of the run's time.
func New(cfg Config, r protocol.Runtime, rec *history.Recorder, start time.Time, env func(client string) (Env, error)) (*Workload, error) {
	if cfg.Source == nil {
		cfg.Source = func(seed, stream uint64) rand.Source { return rand.NewPCG(seed, stream) }
	}
	w := &Workload{config: cfg, runtime: r, recorder: rec, start: start, keys: keyNames(cfg.Keys, cfg.Usages, cfg.KeyPrefix), env: env}
	w.Pauses = NewPauses(r, w.record)
	w.resource = NewResource(cfg.Protocol.Compares(), w.record)
	shared := programs(&w.config, env)
	for i, name := range Clients(cfg.Clients) {
		c := &client{w: w, name: name, lock: noLock{}, number: i + 1, clock: NewClock(r), random: rand.New(cfg.Source(cfg.Seed, uint64(i+1)))}
		var s Env
		if len(shared) > 0 {
			c.program = shared[i%len(shared)]
			c.program.clients = append(c.program.clients, c)
			s.Process = c.program.name
		} else {
			var err error
			if s, err = env(name); err != nil {
				return nil, fmt.Errorf("client %s: %w", name, err)
			}
			s.Process = name
		}
		s.Client, s.Runtime, s.TTL, s.Timeout, s.Fencing, s.Wait = name, guarded{c.clock, c}, cmp.Or(cfg.TTLs[name], cfg.TTL), cfg.Timeout, cfg.Fencing, cfg.Wait
		s.Kind, s.Permits = cfg.Lock.Kind, cfg.Permits
		s.AcquireTimeout, s.Margin = cfg.AcquireTimeout, cfg.margin()
		s.Hooks = c.hooks()
		s.Record = func(op history.Op, ago time.Duration) {
			if op.F == history.FVote && op.Value != nil {
				c.nameVote(&op)
			}
			rec.RecordAt(op, w.since(r.Now())-ago)
		}
		s.Pass = func(point, key string) bool { return w.Pauses.Pass(name, point, key) }
		s.Mark, s.Apply = w.resource.Mark, w.resource.Write
		s.Renewed, s.Lost = c.renewed, c.hasLost
		s.Skewed = c.recordClock
		c.env = s
		w.clients = append(w.clients, c)
	}
	w.Pauses.setClock, w.Pauses.clock, w.Pauses.lease = w.setClock, w.clock, w.lease
	return w, nil
}

// Open makes the clients' locks, one after the other. It does not wait longer than the bound of a
// call for a lock; the client takes part once the lock exists.
func (w *Workload) Open() error {
	for _, c := range w.clients {
		var mu sync.Mutex // making a lock may end after Open has returned
		var failed error
		w.each([]*client{c}, func(c *client) {
			lock, err := c.newLock()
			if err == nil {
				c.mu.Lock()
				c.lock = lock
				c.mu.Unlock()
				c.registered()
			}
			mu.Lock()
			defer mu.Unlock()
			failed = err
		})
		mu.Lock()
		err := failed
		mu.Unlock()
		if err != nil {
			return fmt.Errorf("client %s: %w", c.name, err)
		}
	}
	return nil
}

// lease returns the key and the token of the lease that a client holds now, if any.
func (w *Workload) lease(name string) (key, token string) {
	if c := w.named(name); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lease != nil {
			return c.key, c.lease.Token()
		}
	}
	return "", ""
}

// named returns the client with a name, or nil.
func (w *Workload) named(name string) *client {
	for _, c := range w.clients {
		if c.name == name {
			return c
		}
	}
	return nil
}

// setClock sets the clocks of the client with a name.
func (w *Workload) setClock(name string, to cluster.Clock) error {
	c := w.named(name)
	if c == nil {
		return fmt.Errorf("there is no client %s", name)
	}
	if err := CheckClock(to); err != nil {
		return fmt.Errorf("client %s: %w", name, err)
	}
	return c.setClock(to)
}

// clock returns the clock that a client certainly uses.
func (w *Workload) clock(name string) cluster.Clock {
	c := w.named(name)
	if c == nil {
		return cluster.Clock{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.confirmedClock
}

// fail records an error of the harness itself.
func (w *Workload) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

// Err returns an error of the harness itself, such as a client that could not be restarted, or
// nil.
func (w *Workload) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// KeyNames returns the names of the keys that the clients lock.
func (w *Workload) KeyNames() []string { return slices.Clone(w.keys) }

// Keys returns the names of n keys: k0, k1, …
func Keys(n int) []string { return numbered("k", 0, n) }

// Clients returns the names of n clients: c1, c2, …
func Clients(n int) []string { return numbered("c", 1, n) }

// MasterNames returns the names of n masters: m1, m2, …
func MasterNames(n int) []string { return numbered("m", 1, n) }

func numbered(prefix string, from, n int) []string {
	var names []string
	for i := range n {
		names = append(names, prefix+strconv.Itoa(from+i))
	}
	return names
}

// hooks returns hooks that record a client's votes and stop it after a quorum.
func (c *client) hooks() redlock.Hooks {
	return redlock.Hooks{
		Vote: func(v protocol.Vote) {
			op := history.Op{Value: c.w.recorder.Value()}
			vote(&op, c.name, v, c.w.config.Fencing)
			c.nameVote(&op)
			if v.At.IsZero() { // the client is at that point now
				c.w.record(op)
				return
			}
			c.w.recorder.RecordAt(op, c.w.since(v.At))
		},
		Decided: func(d redlock.Decision) {
			if d.Purpose == protocol.Set && d.Yes >= d.Quorum {
				c.w.Pauses.Pass(c.name, AfterQuorum, d.Key)
			}
		},
	}
}

// VoteOp returns a master's vote as an operation of the history.
func VoteOp(client string, v protocol.Vote, fencing bool) history.Op {
	op := history.Op{Value: &history.Value{}}
	vote(&op, client, v, fencing)
	return op
}

// vote does the same as VoteOp, into an operation that has a Value.
func vote(op *history.Op, client string, v protocol.Vote, fencing bool) {
	op.Process, op.Type, op.F, op.Key = masterName(v.Master), history.OK, history.FVote, v.Key
	x := op.Value
	x.Client, x.Token, x.Command, x.Yes, x.Took, x.TTL = client, v.Token, string(v.Purpose), v.Yes, v.Took, v.TTL
	if v.Purpose == protocol.Recover { // the same command: it creates the key on a master that has lost it
		x.Command = history.CommandSet
	}
	if v.Yes && v.Purpose == protocol.Set && fencing { // the reply to a write-back is not a token
		x.Fence = v.Reply
	}
	if v.Err != nil {
		op.Error = v.Err.Error()
		if !v.Failed() {
			op.Type = history.Info
		}
	}
}

// masterNames contains the names of the greatest number of masters, made once.
var masterNames = numbered("m", 1, 15)

func masterName(i int) string {
	if i < len(masterNames) {
		return masterNames[i]
	}
	return "m" + strconv.Itoa(i+1)
}

// Run makes every client work until ctx ends, and returns when all have stopped.
func (w *Workload) Run(ctx context.Context) { w.all(func(c *client) { c.work(ctx) }) }

// FinalCheck makes every client acquire and release every key once, and waits at most bound for
// each. That shows whether locks can be acquired again after all faults have healed.
func (w *Workload) FinalCheck(ctx context.Context, bound time.Duration) {
	w.all(func(c *client) { c.finalCheck(ctx, bound) })
}

var errAllDone = errors.New("all clients are done")

// sleepStep is the length of one sleep while waiting for a context.
const sleepStep = time.Hour

// Close closes the clients' locks. It does not wait for a client that hangs, which closes its lock when its call returns.
func (w *Workload) Close() error {
	var errs []error
	var mu sync.Mutex
	for _, c := range w.clients {
		c.closesLater()
	}
	w.all(func(c *client) {
		err := c.closeLock()
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	})
	mu.Lock() // a client that hung is late (Abandon)
	defer mu.Unlock()
	return errors.Join(errs...)
}

func (w *Workload) record(op history.Op) history.Op { return recordWith(w.recorder.Record, op) }

// recordAt records an operation that happened at a time of the run.
func (w *Workload) recordAt(op history.Op, at time.Duration) {
	recordWith(func(op history.Op) history.Op { return w.recorder.RecordAt(op, at) }, op)
}

// since converts a time on the clients' clock to a time of the run.
func (w *Workload) since(t time.Time) time.Duration { return t.Sub(w.start) }
