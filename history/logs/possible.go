package logs

import (
	"fmt"
	"time"
)

// Possible is an overlap of two holds that happened if every logged time is exact. The times are
// uncertain by at least the length of the overlap, so it may not have happened.
type Possible struct {
	Key     string        `json:"key"`
	At      time.Time     `json:"at"`      // when it began, by the log
	For     time.Duration `json:"for"`     // ns: how long it lasted
	Earlier string        `json:"earlier"` // the line that began the earlier hold, as file:line
	Later   string        `json:"later"`
	Clients [2]string     `json:"clients"`
	Why     string        `json:"why"` // why it is not certain
}

func (p Possible) String() string {
	return fmt.Sprintf("%s was granted %s at %s (%s) while %s held it (%s), for %v more: %s",
		p.Clients[1], p.Key, p.At.Format("2006-01-02T15:04:05.999999999Z07:00"), p.Later, p.Clients[0], p.Earlier, p.For, p.Why)
}

// Possible counts the holds that, if every logged time is exact, begin during another hold of the
// same lock, but not certainly. It returns at most first of them.
func (l *Log) Possible(first int) (count int, some []Possible) {
	var longest, sureLongest *event // the lock's holds so far that end last, exactly and certainly
	var to, sureTo int64
	for i := range l.holds.n {
		h := l.holds.at(i)
		if i > 0 && h.key != l.holds.at(i-1).key {
			longest, sureLongest = nil, nil
		}
		f := l.exact(h)
		c, why := l.certain(h)
		if f.to > f.from() {
			if longest != nil && f.from() < to && !(why == sure && (l.overlap(longest, &c) || sureLongest != nil && l.overlap(sureLongest, &c))) {
				if count++; len(some) < first {
					some = append(some, l.possible(longest, h, min(to, f.to)))
				}
			}
			if longest == nil || f.to > to {
				longest, to = h, f.to
			}
		}
		if why == sure && (sureLongest == nil || c.to > sureTo) {
			sureLongest, sureTo = h, c.to
		}
	}
	return count, some
}

// overlap reports whether the certain form of a hold overlaps a form of another.
func (l *Log) overlap(h *event, other *form) bool {
	f, why := l.certain(h)
	return why == sure && f.from() < other.to && other.from() < f.to
}

func (l *Log) possible(a, b *event, to int64) Possible {
	p := Possible{
		Key: l.im.keys.list[b.key], At: time.Unix(0, b.at).UTC(), For: time.Duration(to - b.at),
		Earlier: l.im.name(a.place()), Later: l.im.name(b.place()), Clients: [2]string{l.process(a), l.process(b)},
		Why: "that is within what is not known of the times",
	}
	for _, h := range []*event{a, b} {
		if _, why := l.certain(h); why != sure && why != tooShort {
			p.Why = "the hold of " + l.process(h) + " is one " + doubtTexts[why].which
		}
	}
	return p
}

// Hold is a hold with its logged times.
type Hold struct {
	Key, Client, Token string
	From, To           time.Time
}

// Exact returns the holds of a log, taking every logged time as exact, sorted by lock and time.
func (l *Log) Exact() []Hold {
	all := make([]Hold, 0, l.holds.n)
	for i := range l.holds.n {
		h := l.holds.at(i)
		all = append(all, Hold{l.im.keys.list[h.key], l.process(h), l.token(h), time.Unix(0, h.at).UTC(), time.Unix(0, l.exact(h).to).UTC()})
	}
	return all
}
