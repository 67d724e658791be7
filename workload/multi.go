package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// MultiLock is a lock that can be acquired on several keys at once.
type MultiLock interface {
	Lock
	// AcquireAll does the same as Acquire for several keys, of which it acquires all or none. The lease has one token and
	// one end on all of them.
	AcquireAll(ctx context.Context, keys []string) (Lease, error)
}

// keySeparator separates keys in the name under which a client uses several keys at once. No key has it.
const keySeparator = "\x1f"

// KeySet returns the name under which a client uses keys at once: of one key, its own.
func KeySet(keys []string) string { return strings.Join(keys, keySeparator) }

// KeysOf returns the keys that a client uses at once, by the name under which it does.
func KeysOf(name string) []string { return strings.Split(name, keySeparator) }

// includes reports whether a key is one of those that a client uses at once under a name, or that name.
func includes(name, key string) bool { return name == key || slices.Contains(KeysOf(name), key) }

// mostKeys is the largest number of keys that a client acquires at once.
const mostKeys = 3

// drawKeys draws what the client acquires next: a key, or of a multi-lock one to three of the keys in any order.
func (c *client) drawKeys() string {
	keys := c.w.keys
	if c.w.config.Lock.Kind != history.Multi {
		return keys[c.random.IntN(len(keys))]
	}
	var all []string
	for _, i := range c.random.Perm(len(keys))[:1+c.random.IntN(min(mostKeys, len(keys)))] {
		all = append(all, keys[i])
	}
	return KeySet(all)
}

// finalKeys returns what the client acquires as the i-th of its final checks: a key, or of a multi-lock a key with the next.
func (c *client) finalKeys(i int) string {
	keys := c.w.keys
	key, next := keys[(i+c.number)%len(keys)], keys[(i+c.number+1)%len(keys)]
	if c.w.config.Lock.Kind != history.Multi || key == next {
		return key
	}
	return KeySet([]string{key, next})
}

// ofLeases are the operations that each lease has for itself. What a client does with several keys at once is one line for each.
var ofLeases = []string{history.FAcquire, history.FExtend, history.FRelease, history.FEnter, history.FLeave, history.FLost, history.FClock}

// recordWith records an operation, for each key that it is about.
func recordWith(record func(history.Op) history.Op, op history.Op) (last history.Op) {
	keys := KeysOf(op.Key)
	if !slices.Contains(ofLeases, op.F) {
		keys = keys[:1]
	}
	for _, op.Key = range keys {
		last = record(op)
	}
	return last
}

// AcquireAll acquires several keys: it tries one after the other, in an order that is the same for all clients, and if one
// is refused, it releases those before it and begins anew.
func (l *textbook) AcquireAll(ctx context.Context, keys []string) (Lease, error) {
	if !l.mutations.holdsAndWaits {
		keys = slices.Sorted(slices.Values(keys))
	}
	return l.acquire(ctx, keys[0], func(_ protocol.Conversation, token, _ string, start time.Time) (Lease, error) {
		return l.attemptAll(ctx, keys, token, start)
	})
}

// attemptAll makes one attempt on each key.
func (l *textbook) attemptAll(ctx context.Context, keys []string, token string, start time.Time) (Lease, error) {
	all := &multiLease{}
	for _, key := range keys {
		try := func() (*textbookLease, error) {
			return l.attempt(ctx, l.masters.Begin(l.env.Hooks.Vote), key, token, token, Share{}, start)
		}
		x, err := try()
		for l.mutations.holdsAndWaits && err != nil && !errors.Is(err, ErrGone) && l.env.Runtime.Sleep(ctx, l.delay()) == nil {
			start = l.clock()
			x, err = try()
		}
		switch {
		case err == nil:
			all.parts = append(all.parts, x)
		case errors.Is(err, ErrGone):
			return nil, err
		case l.mutations.missesKeys && len(all.parts) > 0:
		default:
			if !l.mutations.forgetsTaken {
				all.giveBack(ctx)
			}
			return nil, err
		}
	}
	if err := all.bind(l); err != nil {
		all.giveBack(ctx)
		return nil, err
	}
	return all, nil
}

// multiLease holds the leases of several keys, which have one token. It ends when the first of them does.
type multiLease struct {
	parts []*textbookLease
	mu    sync.Mutex
	until time.Time // the earliest end of the parts; an extension that fails does not move it
}

// bind gives all parts one context, which ends with any of them. It returns an error if one is over.
func (m *multiLease) bind(l *textbook) error {
	ctx, cancel := l.env.Runtime.WithCancelCause(context.Background())
	for _, x := range m.parts {
		x.mu.Lock()
		over := x.over
		x.ctx, x.cancel = ctx, cancel
		x.mu.Unlock()
		if over != nil || !x.valid() {
			return redlock.ErrExpired
		}
	}
	m.lasts()
	return nil
}

// lasts sets the end of the lease to the earliest end of the parts.
func (m *multiLease) lasts() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = slices.MinFunc(m.parts, func(a, b *textbookLease) int { return a.Until().Compare(b.Until()) }).Until()
}

// giveBack releases what an attempt has acquired.
func (m *multiLease) giveBack(ctx context.Context) {
	for _, x := range m.parts {
		x.mu.Lock()
		x.over = redlock.ErrReleased
		x.mu.Unlock()
		_, _ = x.lock.releaseAll(ctx, x.talk, x.key, x.token, Share{}, x.believed, x.lock.answered)
	}
}

func (m *multiLease) Token() string            { return m.parts[0].token }
func (m *multiLease) Fence() int64             { return 0 }
func (m *multiLease) Context() context.Context { return m.parts[0].Context() }

// Until returns the end of the validity.
func (m *multiLease) Until() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.until
}

// Extend extends all parts.
func (m *multiLease) Extend(ctx context.Context) (Lease, error) {
	for i, x := range m.parts {
		if i > 0 && x.lock.mutations.extendsFirst {
			end := m.parts[0].Until()
			x.mu.Lock()
			x.until = end
			x.mu.Unlock()
		} else if err := x.extend(ctx); err != nil {
			return nil, err
		}
	}
	m.lasts()
	return m, nil
}

// Release releases all leases. If only some are released for certain, what happened is unknown.
func (m *multiLease) Release(ctx context.Context) error {
	var first error
	certain, released := true, 0
	for _, x := range m.parts {
		err := x.Release(ctx)
		if err == nil {
			released++
		}
		first = cmp.Or(first, err)
		certain = certain && Outcome(err) == history.Fail
	}
	if first != nil && !certain {
		return fmt.Errorf("%d of %d keys were released: %s", released, len(m.parts), first.Error())
	}
	return first
}

// multis are correct, and plantedMulti has bugs of such locks.
var multis = []Implementation{{
	Name: "multi", Kind: history.Multi,
	Summary: "a multi-lock of textbook locks: all keys or none, one after the other in the order of their names",
	New:     textbookWith(mutations{}),
}}

var plantedMulti = []Implementation{
	{
		Name: "multi-waits-holding", Bug: "b38", Kind: history.Multi, Twin: "multi",
		Summary: "acquires its keys in the order of the caller, and holds those that it has while it waits for the next",
		New:     textbookWith(mutations{holdsAndWaits: true}),
	},
	{
		Name: "multi-forgets-keys", Bug: "b39", Kind: history.Multi, Twin: "multi",
		Summary: "an acquire whose second key is refused does not release the first",
		New:     textbookWith(mutations{forgetsTaken: true}),
	},
	{
		Name: "multi-key-missing", Bug: "b40", Kind: history.Multi, Twin: "multi",
		Summary: "an acquire is granted although a key after the first was refused",
		New:     textbookWith(mutations{missesKeys: true}),
	},
	{
		Name: "multi-extends-first", Bug: "b41", Kind: history.Multi, Twin: "multi",
		Summary: "an extension extends the first key alone",
		New:     textbookWith(mutations{extendsFirst: true}),
	},
}
