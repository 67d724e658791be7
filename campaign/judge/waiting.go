package judge

import (
	"time"

	"lockpick/history"
)

// Waiting describes how clients waited for the lock until it was granted. No verdict rests on these figures: few locks promise
// an order or a load.
type Waiting struct {
	Longest           time.Duration `json:"longest"`             // ns, of the acquires that were granted
	Overtaken         int           `json:"overtaken"`           // the most grants of a key to clients that began to wait later than one who waited
	CommandsPerSecond float64       `json:"commands_per_second"` // commands that acquire, for each second that a client waited
	Asleep            time.Duration `json:"asleep"`              // ns: the longest time for which a waiter sent nothing while no client held the key
	ToldLate          time.Duration `json:"told_late"`           // ns: how late a lock reported the end of a lease at the latest
}

// Worst returns the worse of each figure of two runs.
func (w Waiting) Worst(v Waiting) Waiting {
	return Waiting{max(w.Longest, v.Longest), max(w.Overtaken, v.Overtaken), max(w.CommandsPerSecond, v.CommandsPerSecond), max(w.Asleep, v.Asleep), max(w.ToldLate, v.ToldLate)}
}

// waitingOf measures the waits of a history.
func waitingOf(h *history.Packed) (w Waiting) {
	type wait struct {
		from time.Duration
		key  string
		over int // grants to clients that began to wait later
	}
	open := map[string]*wait{}
	total := time.Duration(0)
	for _, op := range h.All() {
		if op.F == history.FCrash {
			delete(open, op.Process)
		}
		if op.F != history.FAcquire {
			continue
		}
		if op.Type == history.Invoke {
			open[op.Process] = &wait{from: op.Time, key: op.Key}
			continue
		}
		mine := open[op.Process]
		if mine == nil {
			continue
		}
		delete(open, op.Process)
		total += op.Time - mine.from
		if op.Type != history.OK {
			continue
		}
		w.Longest, w.Overtaken = max(w.Longest, op.Time-mine.from), max(w.Overtaken, mine.over)
		for _, other := range open {
			if other.key == mine.key && other.from < mine.from {
				other.over++
			}
		}
	}
	sets := 0
	for n := range h.Len() {
		if h.Kind(int32(n)).Command == history.CommandSet {
			sets++
		}
	}
	leases, _ := h.Leases()
	w.Asleep, w.ToldLate = asleep(h, leases), toldLate(leases)
	if total > 0 {
		w.CommandsPerSecond = float64(sets) / total.Seconds()
	}
	return w
}
