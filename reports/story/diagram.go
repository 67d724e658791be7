package story

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockpick/history/fault"

	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/term"
)

// column is a client or a master in a diagram.
type column struct {
	name   string
	client bool
	width  int
	center int
}

// storageLane names the lifeline of the storage, which is the guarded resource.
const storageLane = "storage"

// mark is a word in the column of a client, a master or the storage.
type mark struct{ who, word string }

// arrow is a message between a client and some masters, or the storage.
type arrow struct {
	client  string
	masters []string
	lost    []string // masters that the message did not reach, as far as is known
	back    bool     // from the masters to the client
}

// marks returns the words of a step in the diagram, and its arrow if there was a message. Of
// several words in a column it keeps the first; but what the fence refused is more than what was applied without it.
func (s *step) marks() (marks []mark, sent *arrow) {
	add := func(who, word string) {
		if who == "" || word == "" || slices.ContainsFunc(marks, func(m mark) bool { return m.who == who }) {
			return
		}
		marks = append(marks, mark{who, word})
	}
	for _, e := range s.events {
		switch e.Kind {
		case narrative.EventAsked:
			sent = &arrow{client: e.Client, masters: e.Masters, lost: e.Cut}
			add(e.Client, e.Word)
		case narrative.EventAnswered:
			sent = &arrow{client: e.Client, masters: e.Answering(), lost: e.Silent, back: true}
			for _, a := range []struct {
				masters []string
				word    string
			}{{e.Yes, "yes"}, {e.No, "no"}, {e.Failed, "error"}, {e.Silent, "?"}} {
				for _, m := range a.masters {
					add(m, a.word)
				}
			}
		case narrative.EventRead, narrative.EventApplied, narrative.EventMarked:
			sent = &arrow{client: e.Client, masters: []string{storageLane}, back: e.Kind == narrative.EventRead}
			add(storageLane, e.Word)
		case narrative.EventRejected:
			sent = &arrow{client: e.Client, masters: []string{storageLane}}
			marks = slices.DeleteFunc(marks, func(m mark) bool { return m.who == storageLane })
			add(storageLane, e.Word)
		case narrative.EventNote:
		default:
			for _, m := range e.Masters {
				add(m, e.Word)
			}
			if len(e.Masters) == 0 {
				add(e.Client, e.Word)
			}
		}
	}
	return marks, sent
}

// drawing is a diagram under construction.
type drawing struct {
	v       *narrative.Violation
	steps   []step
	clients []string // the holder of the earlier lease is first
	masters []string
	storage bool // some events are about the storage, which has the last column
	columns []column
	state   *snapshot
	out     bytes.Buffer
	used    map[rune]bool // signs that the legend explains
}

// Diagram draws the narrative of a violation at most width columns wide, with time from top to bottom: the holder of the
// earlier lease on the left, then the masters, then the other clients, so that few arrows cross a client. It is empty
// if the violation has no events.
func Diagram(v *narrative.Violation, width int) string {
	d, _ := newDrawing(v)
	if len(d.steps) == 0 {
		return ""
	}
	clock := clockWidth(d.steps)
	left := clock + 7
	var hidden []string
	d.columns, hidden = d.fitColumns(width - left)
	for i, at := 0, left; i < len(d.columns); i++ {
		d.columns[i].center = at + (d.columns[i].width-1)/2
		at += d.columns[i].width
	}
	d.names(left)
	for i := range d.steps {
		x := &d.steps[i]
		if i > 0 && !d.answers(i) {
			d.between(d.steps[i-1].at, x.at)
		}
		for _, e := range x.events {
			d.state.apply(e)
		}
		d.step(i, x, clock)
	}
	d.legend(width, hidden)
	return d.out.String()
}

// newDrawing returns a diagram of a violation without any row, and the event that states the violation; nil: there is
// none.
func newDrawing(v *narrative.Violation) (d *drawing, conclusion *narrative.Event) {
	d = &drawing{v: v, state: newSnapshot(v)}
	d.steps, conclusion = stepsOf(v)
	d.cast()
	return d, conclusion
}

// cast lists the clients and masters that take part.
func (d *drawing) cast() {
	client := func(name string) {
		if name != "" && !slices.Contains(d.clients, name) {
			d.clients = append(d.clients, name)
		}
	}
	named := map[string]bool{}
	for i := range d.steps {
		for _, e := range d.steps[i].events {
			named[e.Client] = true
		}
	}
	for _, name := range d.v.Clients {
		if named[name] {
			client(name)
		}
	}
	for i := range d.steps {
		marks, _ := d.steps[i].marks()
		for _, e := range d.steps[i].events {
			client(e.Client)
			d.storage = d.storage || e.AtStorage()
			for _, m := range slices.Concat(e.Masters, e.Answering()) {
				if m != "" && !slices.Contains(d.masters, m) {
					d.masters = append(d.masters, m)
				}
			}
		}
		for _, m := range marks {
			if !slices.Contains(d.masters, m.who) && m.who != storageLane {
				client(m.who)
			}
		}
	}
	slices.SortFunc(d.masters, history.CompareNames)
}

// leftToRight lists the participants: the holder of the earlier lease, the masters, the other
// clients, the storage. In this order few arrows cross a client.
func (d *drawing) leftToRight() []string {
	first := min(1, len(d.clients))
	all := slices.Concat(d.clients[:first], d.masters, d.clients[first:])
	if d.storage {
		all = append(all, storageLane)
	}
	return all
}

// answers reports whether a step is a reply to the step before it.
func (d *drawing) answers(i int) bool {
	x, before := d.steps[i].events[0], d.steps[i-1].events[0]
	return x.Kind == narrative.EventAnswered && (before.Kind == narrative.EventAsked || before.Kind == narrative.EventAnswered) &&
		x.Client == before.Client && x.Token == before.Token && x.Command == before.Command
}

func (d *drawing) column(name string) *column {
	for i := range d.columns {
		if d.columns[i].name == name {
			return &d.columns[i]
		}
	}
	return nil
}

// row is a line of characters.
type row []rune

func (l *row) put(at int, text string) {
	for _, r := range text {
		for len(*l) <= at {
			*l = append(*l, ' ')
		}
		if at >= 0 {
			(*l)[at] = r
		}
		at++
	}
}

func (d *drawing) write(l row) {
	d.out.WriteString(strings.TrimRight(string(l), " "))
	d.out.WriteByte('\n')
}

func (d *drawing) names(left int) {
	var l row
	l.put(left-len("time")-2, "time")
	for _, c := range d.columns {
		name := term.Cut(term.Printable(c.name), 12)
		l.put(c.center-(utf8.RuneCountInString(name)-1)/2, name)
	}
	d.write(l)
}

// between writes a row without a step, to show the state between two steps.
func (d *drawing) between(from, to time.Duration) {
	var l row
	d.bars(&l, from+(to-from)/2)
	d.write(l)
}

// step writes the row of a step.
func (d *drawing) step(i int, x *step, clock int) {
	var l row
	l.put(0, fmt.Sprintf("%3d  %*s", i+1, clock, term.Instant(x.at)))
	d.bars(&l, x.at)
	marks, sent := x.marks()
	d.arrow(&l, marks, sent)
	for _, m := range marks {
		if c := d.column(m.who); c != nil {
			word := term.Printable(m.word)
			if n := c.width - 1; utf8.RuneCountInString(word) > n {
				word = term.Cut(word, n)
			}
			l.put(c.center-(utf8.RuneCountInString(word)-1)/2, word)
		}
	}
	d.write(l)
}

// arrow draws a message. It leaves out the lifelines on its way, so that they stay visible.
func (d *drawing) arrow(l *row, marks []mark, sent *arrow) {
	if sent == nil {
		return
	}
	c := d.column(sent.client)
	if c == nil {
		return
	}
	far, reached := c.center, false
	for _, name := range sent.masters {
		if m := d.column(name); m != nil && !(sent.back && slices.Contains(sent.lost, name)) && abs(m.center-c.center) > abs(far-c.center) {
			far, reached = m.center, true
		}
	}
	if !reached {
		return
	}
	step := 1
	if far < c.center {
		step = -1
	}
	lifeline := map[int]bool{}
	for _, o := range d.columns {
		lifeline[o.center] = true
	}
	for at := c.center + step; at != far; at += step {
		if !lifeline[at] {
			l.put(at, "-")
		}
	}
	head := map[bool]string{true: ">", false: "<"}
	if sent.back {
		at := c.center + step
		for _, m := range marks { // the arrowhead is beside the client's word
			if m.who == c.name {
				n := utf8.RuneCountInString(m.word)
				if at = c.center - (n-1)/2 - 1; step > 0 {
					at = c.center - (n-1)/2 + n
				}
			}
		}
		for at > 0 && at < len(*l) && (*l)[at] != ' ' && (*l)[at] != '-' { // a sign beside the lifeline
			at += step
		}
		l.put(at, head[step < 0])
		return
	}
	for _, name := range sent.masters {
		if m := d.column(name); m != nil {
			tip := head[step > 0]
			if slices.Contains(sent.lost, name) {
				tip = "x"
				d.use('x')
			}
			l.put(m.center-step, tip)
		}
	}
}

func abs(n int) int { return max(n, -n) }

func (d *drawing) use(r rune) {
	if d.used == nil {
		d.used = map[rune]bool{}
	}
	d.used[r] = true
}

// bars draws the states of all columns at a time.
func (d *drawing) bars(l *row, at time.Duration) {
	for _, c := range d.columns {
		bar := d.state.lane(c.name, c.client, at)
		for _, r := range bar {
			d.use(r)
		}
		l.put(c.center-1, string(bar[:]))
	}
}

// legend explains the signs of the diagram, and names the hidden masters.
func (d *drawing) legend(width int, hidden []string) {
	var entries []string
	for i, token := range d.v.Tokens[:min(len(d.v.Tokens), len(fills))] {
		if r := fills[i]; d.used[r] && i < len(d.v.Clients) {
			which := "the lease of " + d.v.Clients[i]
			if i == 1 && d.v.Clients[0] == d.v.Clients[1] {
				which = "its later lease"
			} else if slices.Contains(d.v.Clients[:i], d.v.Clients[i]) {
				which = "a later lease of " + d.v.Clients[i]
			}
			if slices.Contains(d.v.Tokens[:i], token) {
				continue
			}
			its := "its token"
			if d.storage {
				its = "its token or write"
			}
			entries = append(entries, fmt.Sprintf("%c %s, and %s", r, which, its))
		}
	}
	for _, x := range []struct {
		sign rune
		says string
	}{
		{':', ": another token"}, {'[', "[ ] in its critical section"}, {'!', "! ! the violation"}, {'z', "z z stopped"}, {'~', "~ ~ its clock is wrong"}, {'.', ". down"}, {'x', "x lost on the way"},
	} {
		if d.used[x.sign] {
			entries = append(entries, x.says)
		}
	}
	if strings.Contains(d.out.String(), "?") {
		entries = append(entries, "? no answer")
	}
	if len(entries)+len(hidden) > 0 {
		d.out.WriteByte('\n')
	}
	for _, l := range wrapAt(entries, width) {
		fmt.Fprintln(&d.out, l)
	}
	if len(hidden) > 0 {
		d.out.WriteString(strings.Join(term.Lines("Not drawn, because they matter least: "+fault.Enumerate(hidden)+".", width), "\n") + "\n")
	}
}

// wrapAt joins pieces into rows, as many pieces as fit into width columns.
func wrapAt(pieces []string, width int) []string {
	var rows []string
	for _, p := range pieces {
		p = term.Printable(p)
		if n := len(rows); n > 0 && utf8.RuneCountInString(rows[n-1])+4+utf8.RuneCountInString(p) <= width {
			rows[n-1] += "    " + p
		} else {
			rows = append(rows, p)
		}
	}
	return rows
}
