package judge

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// Waiting describes how clients waited for the lock until it was granted. No verdict rests on these figures: few locks promise
// an order or a load.
type Waiting struct {
	Longest           time.Duration `json:"longest"`             // ns, of the acquires that were granted
	Overtaken         int           `json:"overtaken"`           // the most grants of a key to clients that began to wait later than one who waited
	Starved           int           `json:"starved"`             // the most grants of a key to others while a client asked for it and was granted none
	CommandsPerSecond float64       `json:"commands_per_second"` // commands that acquire, for each second that a client waited
	Asleep            time.Duration `json:"asleep"`              // ns: the longest time for which a waiter sent nothing while no client held the key
	ToldLate          time.Duration `json:"told_late"`           // ns: how late a lock reported the end of a lease at the latest

	Clients []ClientWaiting `json:"clients,omitempty"` // of a run: the share of each client that asked, by name
}

// ClientWaiting is the share of one client.
type ClientWaiting struct {
	Client  string        `json:"client"`
	Granted int           `json:"granted"` // acquires
	Longest time.Duration `json:"longest"` // ns: as that of Waiting
	Starved int           `json:"starved"` // as that of Waiting
}

// askingGap is the longest pause between two acquires of a client that counts as one request.
const askingGap = 250 * time.Millisecond

// Worst returns the worse of each figure of two runs, without the shares of their clients.
func (w Waiting) Worst(v Waiting) Waiting {
	return Waiting{
		Longest: max(w.Longest, v.Longest), Overtaken: max(w.Overtaken, v.Overtaken), Starved: max(w.Starved, v.Starved),
		CommandsPerSecond: max(w.CommandsPerSecond, v.CommandsPerSecond), Asleep: max(w.Asleep, v.Asleep), ToldLate: max(w.ToldLate, v.ToldLate),
	}
}

// waitingOf measures the waits of a history.
func waitingOf(h *history.Packed) (w Waiting) {
	type wait struct {
		from time.Duration
		key  string
		over int // grants to clients that began to wait later
		dry  int // grants to others since the client asks, in earlier acquires, too
	}
	open := map[string]*wait{}
	type lost struct {
		at  time.Duration
		key string
		dry int
	}
	failed := map[string]lost{} // by client: its last acquire, if that was not granted
	shares := map[string]*ClientWaiting{}
	total := time.Duration(0)
	for _, op := range h.All() {
		if op.F == history.FCrash {
			delete(open, op.Process)
			delete(failed, op.Process)
		}
		if op.F != history.FAcquire {
			continue
		}
		if op.Type == history.Invoke {
			mine := &wait{from: op.Time, key: op.Key}
			if f, before := failed[op.Process]; before && f.key == op.Key && op.Time-f.at <= askingGap {
				mine.dry = f.dry
			}
			open[op.Process] = mine
			if shares[op.Process] == nil {
				shares[op.Process] = &ClientWaiting{Client: op.Process}
			}
			continue
		}
		mine := open[op.Process]
		if mine == nil {
			continue
		}
		delete(open, op.Process)
		total += op.Time - mine.from
		if op.Type != history.OK {
			failed[op.Process] = lost{op.Time, op.Key, mine.dry}
			continue
		}
		delete(failed, op.Process)
		share := shares[op.Process]
		share.Granted++
		share.Longest = max(share.Longest, op.Time-mine.from)
		w.Longest, w.Overtaken = max(w.Longest, op.Time-mine.from), max(w.Overtaken, mine.over)
		for client, other := range open {
			if other.key != mine.key {
				continue
			}
			if other.from < mine.from {
				other.over++
			}
			other.dry++
			shares[client].Starved = max(shares[client].Starved, other.dry)
		}
	}
	for _, share := range shares {
		w.Starved = max(w.Starved, share.Starved)
		w.Clients = append(w.Clients, *share)
	}
	slices.SortFunc(w.Clients, func(a, b ClientWaiting) int {
		return cmp.Or(cmp.Compare(len(a.Client), len(b.Client)), cmp.Compare(a.Client, b.Client))
	})
	sets := 0
	for n := range h.Len() {
		if h.Kind(int32(n)).Command == history.CommandSet {
			sets++
		}
	}
	leases, _ := h.Leases(h.Calls())
	w.Asleep, w.ToldLate = asleep(h, leases), toldLate(leases)
	if total > 0 {
		w.CommandsPerSecond = float64(sets) / total.Seconds()
	}
	return w
}
