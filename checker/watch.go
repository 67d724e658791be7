package checker

import (
	"slices"
	"sync"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
)

// Watch counts violations of mutual exclusion (L2) while a run goes on. Its count and its
// first time are exact: a sweep over the operations so far would find the same. The zero
// value is ready to use.
//
// Register Observe with a Recorder; Violations and First may be called at any
// time from any goroutine. An operation costs O(holds open on its key).
type Watch struct {
	Header history.Header // of the history; if it names no kind, the lock is a mutex

	mu     sync.Mutex
	now    time.Duration // the time of the last operation
	keys   map[string]*watched
	owners map[string]map[facts.KeyToken][]*watchHold // by process, key and token: the latest hold of each lease that is not released, the latest lease last
	fresh  []*watched                                 // keys with a hold that began now: later operations at this instant may still change it

	settled int // violations that began before now
	first   time.Duration
}

// watched holds the holds of one key that have not ended before now, in the order
// in which they began.
type watched struct {
	holds []*watchHold
}

type watchHold struct {
	key      *watched
	client   string
	weight   int64
	from, to time.Duration
	lost     bool       // its lock reported that it is over
	before   *watchHold // what an upgrade replaced
}

// Observe adds one operation. The caller must pass operations in the order of their times.
func (w *Watch) Observe(op history.Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if op.Time > w.now {
		w.settle()
		w.now = op.Time
	}
	mine := w.owners[op.Process]
	if op.F == history.FCrash {
		for _, holds := range mine {
			for _, h := range holds {
				h.to = min(h.to, op.Time)
			}
		}
		delete(w.owners, op.Process)
		return
	}
	if op.Value == nil || op.Value.Token == "" {
		return
	}
	token := facts.KeyToken{Key: op.Key, Token: op.Value.Token}
	var h *watchHold // what a later line of the client is about
	last := len(mine[token]) - 1
	if last >= 0 {
		h = mine[token][last]
	}
	switch {
	case op.F == history.FAcquire && op.Type == history.OK:
		if w.keys == nil {
			w.keys, w.owners = map[string]*watched{}, map[string]map[facts.KeyToken][]*watchHold{}
		}
		key := w.keys[op.Key]
		if key == nil {
			key = &watched{}
			w.keys[op.Key] = key
		}
		if w.owners[op.Process] == nil {
			w.owners[op.Process] = map[facts.KeyToken][]*watchHold{}
		}
		w.owners[op.Process][token] = append(mine[token], w.begin(key, w.Header.Weight(op.Asks()), op))
	case h == nil: // never granted, or released
	case op.F == history.FRelease && op.Type == history.Invoke:
		h.to = min(h.to, op.Time)
		if mine[token] = mine[token][:last]; last == 0 {
			delete(mine, token)
		}
	case h.lost:
	case op.F == history.FExtend && op.Value.Mode == history.ModeRead && op.Type == history.Invoke:
		reader := w.Header.Weight(history.ModeRead, 1)
		if b := h.before; b != nil && h.from == op.Time && h.weight > reader { // the upgrade came to nothing
			b.to, h.to = h.to, op.Time
			mine[token][last] = b
			break
		}
		h.weight = min(h.weight, reader)
	case op.F == history.FExtend && op.Type == history.OK:
		weight := h.weight
		if op.Value.Mode == history.ModeWrite {
			weight = w.Header.Weight(op.Value.Mode, 1)
		}
		switch {
		case op.Time > h.to: // the lease had ended: this is a new hold
			mine[token][last] = w.begin(h.key, weight, op)
		case weight > h.weight: // so is an upgrade
			mine[token][last] = w.begin(h.key, weight, op)
			mine[token][last].before, h.to = h, op.Time
		default:
			h.to = max(op.Time, op.Value.ValidUntil)
		}
	case op.F == history.FClock:
		if op.Time < h.to {
			h.to = max(op.Time, op.Value.ValidUntil)
		}
	case op.F == history.FLost:
		h.to, h.lost = min(h.to, op.Time-op.Value.Delay), true
	}
}

func (w *Watch) begin(key *watched, weight int64, op history.Op) *watchHold {
	holds := key.holds[:0]
	for _, h := range key.holds {
		if h.to >= op.Time { // an extension may still follow at this instant
			holds = append(holds, h)
		}
	}
	clear(key.holds[len(holds):])
	h := &watchHold{key: key, client: op.Process, weight: weight, from: op.Time, to: op.Value.ValidUntil}
	key.holds = append(holds, h)
	if !slices.Contains(w.fresh, key) {
		w.fresh = append(w.fresh, key)
	}
	return h
}

// settle counts the violations that began at the instant now, which is over.
func (w *Watch) settle() {
	if len(w.fresh) == 0 {
		return
	}
	if n := w.pending(); n > 0 {
		if w.settled == 0 {
			w.first = w.now
		}
		w.settled += n
	}
	w.fresh = w.fresh[:0]
}

// pending counts the holds that began now while they and the earlier holds that had not ended weighed more than the
// capacity.
func (w *Watch) pending() int {
	n := 0
	law := facts.LockOf(&w.Header)
	for _, key := range w.fresh {
		weight := int64(0)
		for i, h := range key.holds {
			if h.to <= w.now || law.Reentrant() && h.within(key.holds[:i], w.now) {
				continue
			}
			if weight += h.weight; h.from == w.now && weight > law.Capacity {
				n++
			}
		}
	}
	return n
}

// within reports whether a hold continues one of earlier holds, of the same client, that has not ended.
func (h *watchHold) within(earlier []*watchHold, now time.Duration) bool {
	return slices.ContainsFunc(earlier, func(x *watchHold) bool { return x.client == h.client && x.to > now })
}

// Violations returns how many violations were seen so far.
func (w *Watch) Violations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.settled + w.pending()
}

// First returns when the first violation began, in time since the run began, and whether there was one.
func (w *Watch) First() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.settled > 0:
		return w.first, true
	case w.pending() > 0:
		return w.now, true
	}
	return 0, false
}
