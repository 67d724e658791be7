package checker

import (
	"sync"
	"time"

	"lockpick/history"
)

// Watch counts violations of mutual exclusion (L2) while a run goes on. Its count and its
// first time are exact for the operations so far: the same as the sweep over them
// would find. The zero value is ready to use.
//
// Register Observe with a Recorder; Violations and First may be called at any
// time from any goroutine. An operation costs O(holds open on its key).
type Watch struct {
	mu     sync.Mutex
	now    time.Duration // of the last operation
	keys   map[string]*watched
	owners map[string]map[string]*watchHold // by process and token: the latest lease, until it is released
	fresh  []*watched                       // keys with a hold that began now: later operations of this instant may still change it

	settled int // violations before now
	first   time.Duration
}

// watched is one key: its holds, in the order in which they began, that have
// not ended before now.
type watched struct {
	holds []*watchHold
}

type watchHold struct {
	key      *watched
	from, to time.Duration
}

// Observe takes in one operation. Operations come in the order of their times.
func (w *Watch) Observe(op history.Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if op.Time > w.now {
		w.settle()
		w.now = op.Time
	}
	mine := w.owners[op.Process]
	if op.F == history.FCrash {
		for _, h := range mine {
			h.to = min(h.to, op.Time)
		}
		delete(w.owners, op.Process)
		return
	}
	if op.Value == nil || op.Value.Token == "" {
		return
	}
	token := op.Value.Token
	switch {
	case op.F == history.FAcquire && op.Type == history.OK:
		if w.keys == nil {
			w.keys, w.owners = map[string]*watched{}, map[string]map[string]*watchHold{}
		}
		key := w.keys[op.Key]
		if key == nil {
			key = &watched{}
			w.keys[op.Key] = key
		}
		w.begin(key, op)
	case op.F == history.FExtend && op.Type == history.OK:
		h := mine[token]
		switch {
		case h == nil: // never granted, or released
		case op.Time <= h.to:
			h.to = max(op.Time, op.Value.ValidUntil)
		default: // it had lapsed: this is a new hold
			w.begin(h.key, op)
		}
	case op.F == history.FClock:
		if h := mine[token]; h != nil && op.Time < h.to {
			h.to = max(op.Time, op.Value.ValidUntil)
		}
	case op.F == history.FLost:
		if h := mine[token]; h != nil {
			h.to = min(h.to, op.Time-op.Value.Delay)
			delete(mine, token)
		}
	case op.F == history.FRelease && op.Type == history.Invoke:
		if h := mine[token]; h != nil {
			h.to = min(h.to, op.Time)
			delete(mine, token)
		}
	}
}

func (w *Watch) begin(key *watched, op history.Op) {
	kept := key.holds[:0]
	for _, h := range key.holds {
		if h.to >= op.Time { // it may yet be extended at this instant
			kept = append(kept, h)
		}
	}
	clear(key.holds[len(kept):])
	h := &watchHold{key: key, from: op.Time, to: op.Value.ValidUntil}
	key.holds = append(kept, h)
	if w.owners[op.Process] == nil {
		w.owners[op.Process] = map[string]*watchHold{}
	}
	w.owners[op.Process][op.Value.Token] = h
	for _, k := range w.fresh {
		if k == key {
			return
		}
	}
	w.fresh = append(w.fresh, key)
}

// settle counts the violations of the instant that is over.
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

// pending counts the holds that began now, inside one that had begun before.
func (w *Watch) pending() int {
	n := 0
	for _, key := range w.fresh {
		inside := false
		for _, h := range key.holds {
			if h.to <= w.now {
				continue
			}
			if h.from == w.now && inside {
				n++
			}
			inside = true
		}
	}
	return n
}

// Violations is how many were seen so far.
func (w *Watch) Violations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.settled + w.pending()
}

// First is when the first one began, in time since the run began.
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
