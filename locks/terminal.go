package locks

import (
	"fmt"
	"io"
	"strings"
	"time"

	"lockpick/reports/term"
)

// Terminal writes who holds which lock for a terminal: a row for each holder, and below them what stands out.
func Terminal(w io.Writer, r *Result, opt term.Options) error {
	t := term.New(opt)
	held, left, endless := r.Count()
	said := []string{term.Plural(held, "holder")}
	if left > 0 {
		said = append(said, fmt.Sprintf("%s left behind", term.Count(left)))
	}
	if endless > 0 {
		said = append(said, fmt.Sprintf("%s without a TTL", term.Count(endless)))
	}
	t.Text("", fmt.Sprintf("%s: %s.", term.Plural(len(r.Locks), "lock"), strings.Join(said, ", ")))
	for _, s := range r.Servers {
		t.Text("  ", lockServer(s))
	}
	if len(r.Locks) > 0 {
		t.WriteByte('\n')
		g := term.Grid{Header: []string{"Lock", "Holder", "Held", "Left", "On"}, Right: []int{2, 3}}
		uncertain, untouched := false, false
		for i := range r.Locks {
			l := &r.Locks[i]
			uncertain = uncertain || !l.Certain
			for k := range l.Holders {
				untouched = untouched || l.Holders[k].Untouched > 0
				g.Rows = append(g.Rows, holderRow(r, l, k))
			}
		}
		g.DropEmpty(4, len(r.Servers) > 1)
		g.DropEmpty(2, untouched)
		t.Table(&g)
		t.WriteByte('\n')
		if untouched {
			t.Text("", "Held: at least so long, because no command has read or changed the key since; empty: not known.")
		} else {
			t.Text("", "For how long they have been held is not known: commands have just read or changed the keys, or the server does not tell.")
		}
		if uncertain {
			t.Text("", "?: looks like a lock by what it stores; its name does not say so (--match PATTERN takes what you name).")
		}
	}
	for _, n := range r.Notes {
		t.Text("Note: ", n)
	}
	return t.Flush(w)
}

func lockServer(s Server) string {
	text := s.Name + " " + s.Address
	if s.Server != "" {
		text += ", " + s.Server
	}
	switch {
	case s.Error != "":
		return text + ": NOT READ: " + s.Error
	case !s.Complete:
		text += fmt.Sprintf(": only the first %s were read (--max-keys)", term.Plural(s.Keys, "key"))
	default:
		text += ": " + term.Plural(s.Keys, "key")
	}
	if s.Blocked > 0 {
		text += fmt.Sprintf("; %s in a blocking command, for which key is not known", term.Plural(s.Blocked, "client"))
	}
	return text
}

// holderRow returns the cells of a lock's holder. The first holder's row has what is to say about the lock.
func holderRow(r *Result, l *Lock, number int) []string {
	h := &l.Holders[number]
	var said []string
	if h.State != Held {
		said = append(said, string(h.State))
	}
	if h.Mode != "" {
		said = append(said, h.Mode)
	}
	if h.Count > 1 {
		said = append(said, fmt.Sprintf("acquired %d times", h.Count))
	}
	if h.Set > 0 {
		said = append(said, "acquired or extended "+rough(h.Set)+" ago")
	}
	if h.Stored != nil {
		said = append(said, "stores the time "+since(*h.Stored, r.At))
	}
	name := "  the same lock"
	if number == 0 {
		name = l.Key
		if !l.Certain {
			name += " ?"
		}
		said = append(said, l.Problems...)
		if n := len(l.Waiters); n > 0 {
			said = append(said, term.Plural(n, "waiter"))
		}
		if l.Listen > 0 {
			said = append(said, term.Plural(l.Listen, "subscriber"))
		}
		if l.More > 0 {
			said = append(said, fmt.Sprintf("%s more", term.Plural(l.More, "holder")))
		}
	}
	if len(said) > 0 {
		name += " (" + strings.Join(said, "; ") + ")"
	}
	left, held := rough(h.Left), ""
	if h.Endless {
		left = "no end"
	}
	if h.Untouched > 0 {
		held = rough(h.Untouched)
	}
	return []string{term.Printable(name), shortOwner(h.Owner), held, left, fmt.Sprintf("%d of %d", len(h.On), len(r.Servers))}
}

// maxOwner is the number of characters of an owner that a table shows.
const maxOwner = 12

func shortOwner(owner string) string {
	text := []rune(term.Printable(strings.ToValidUTF8(owner, "\ufffd")))
	if len(text) == 0 {
		return "(none)"
	}
	if len(text) > maxOwner {
		return string(text[:maxOwner-1]) + "…"
	}
	return string(text)
}

// since words a time relative to now.
func since(t, now time.Time) string {
	if d := now.Sub(t); d >= 0 {
		return rough(d) + " ago"
	}
	return "in " + rough(t.Sub(now))
}

// rough formats a duration with two digits or whole seconds, for a table: 850ms, 12s, 3m20s.
func rough(d time.Duration) string {
	switch {
	case d >= time.Second:
		text := d.Truncate(time.Second).String()
		if d >= time.Minute {
			text = strings.TrimSuffix(text, "0s")
		}
		return text
	default:
		return d.Truncate(time.Millisecond).String()
	}
}
