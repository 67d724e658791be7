package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockpick/checker"
)

// column is a client or a master in a diagram.
type column struct {
	name   string
	client bool
	width  int
	center int
}

// diagram draws the scene: the holder of the earlier lease to the left, then the
// masters, then the other clients, so that no arrow crosses a client.
func (s *scene) diagram(width int) string {
	clock := 0
	for _, x := range s.steps {
		clock = max(clock, len(instant(x.at)))
	}
	left := clock + 7
	columns, hidden := s.columns(width - left)
	for i, at := 0, left; i < len(columns); i++ {
		columns[i].center = at + (columns[i].width-1)/2
		at += columns[i].width
	}
	d := &drawing{s: s, columns: columns}
	d.names(left)
	for i, x := range s.steps {
		if i > 0 && !s.answers(i) {
			d.between(s.steps[i-1].at, x.at)
		}
		d.step(i, x, clock)
	}
	d.legend(width, hidden)
	return d.out.String()
}

// answers says whether a step is the reply to the one before it.
func (s *scene) answers(i int) bool {
	x, before := &s.steps[i], &s.steps[i-1]
	return x.arrow != nil && before.arrow != nil && x.ask == before.ask
}

// columns decides who is shown, and how wide. Where there is no room for all masters,
// those are left out that matter least.
func (s *scene) columns(room int) (shown []column, hidden []string) {
	word := map[string]int{}
	for _, x := range s.steps {
		for _, m := range x.marks {
			word[m.who] = max(word[m.who], utf8.RuneCountInString(m.word))
		}
	}
	const gap = 3 // for an arrow between two words
	wide := func(name string, least int) int {
		return max(word[name], min(utf8.RuneCountInString(name), 12), least) + gap
	}
	masters := slices.Clone(s.masters)
	slices.SortStableFunc(masters, func(a, b string) int { return s.weight(b) - s.weight(a) })
	for i, c := range s.clients {
		col := column{name: c, client: true, width: wide(c, 5)}
		room -= col.width
		if i == 1 || i == 0 && len(s.clients) == 1 {
			shown = append(shown, s.fit(masters, wide, room, s.clients[min(i+1, len(s.clients)):])...)
		}
		if len(s.clients) == 1 {
			shown = append([]column{col}, shown...)
		} else {
			shown = append(shown, col)
		}
	}
	if len(s.clients) == 0 {
		shown = s.fit(masters, wide, room, nil)
	}
	for _, m := range s.masters {
		if !slices.ContainsFunc(shown, func(c column) bool { return c.name == m && !c.client }) {
			hidden = append(hidden, m)
		}
	}
	return shown, hidden
}

// fit makes columns of as many masters as there is room for beside the clients that
// are to come, the weightiest first, in the order of their numbers.
func (s *scene) fit(masters []string, wide func(string, int) int, room int, clients []string) []column {
	for _, c := range clients {
		room -= wide(c, 5)
	}
	var chosen []string
	for _, m := range masters {
		if s.weight(m) == 0 && len(masters) > 5 {
			continue
		}
		if room -= wide(m, 3); room < 0 {
			break
		}
		chosen = append(chosen, m)
	}
	slices.SortFunc(chosen, byNumber)
	var columns []column
	for _, m := range chosen {
		columns = append(columns, column{name: m, width: wide(m, 3)})
	}
	return columns
}

// weight says how much a master has to do with it: most if it was struck, or voted for
// both leases.
func (s *scene) weight(master string) int {
	n := 0
	for _, f := range s.faults {
		if slices.Contains(f.Masters, master) {
			n += 4
		}
	}
	for _, x := range s.steps {
		for _, m := range x.marks {
			if m.who == master && m.word == "yes" && s.lease(x.ask.token) >= 0 {
				n += 2
			}
		}
	}
	return n
}

// drawing is a diagram under way.
type drawing struct {
	s       *scene
	columns []column
	out     bytes.Buffer
	used    map[rune]bool // signs that the legend has to explain
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
		name := cut(printable(c.name), 12)
		l.put(c.center-(utf8.RuneCountInString(name)-1)/2, name)
	}
	d.write(l)
}

// between is a row without a step, so that what lasts is seen to last.
func (d *drawing) between(from, to time.Duration) {
	var l row
	d.bars(&l, from+(to-from)/2)
	d.write(l)
}

// step is the row of a step.
func (d *drawing) step(i int, x step, clock int) {
	var l row
	l.put(0, fmt.Sprintf("%3d  %*s", i+1, clock, instant(x.at)))
	d.bars(&l, x.at)
	d.arrow(&l, x)
	for _, m := range x.marks {
		if c := d.column(m.who); c != nil {
			word := printable(m.word)
			if n := c.width - 1; utf8.RuneCountInString(word) > n {
				word = cut(word, n)
			}
			l.put(c.center-(utf8.RuneCountInString(word)-1)/2, word)
		}
	}
	d.write(l)
}

// arrow draws what is sent. It stops short of lifelines, which go on behind it.
func (d *drawing) arrow(l *row, x step) {
	if x.arrow == nil {
		return
	}
	c := d.column(x.arrow.client)
	if c == nil {
		return
	}
	far, reached := c.center, false
	for _, name := range x.arrow.masters {
		if m := d.column(name); m != nil && !(x.arrow.back && slices.Contains(x.arrow.lost, name)) && abs(m.center-c.center) > abs(far-c.center) {
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
	if x.arrow.back {
		at := c.center + step
		for _, m := range x.marks { // the head stands beside the client's word
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
	for _, name := range x.arrow.masters {
		if m := d.column(name); m != nil {
			tip := head[step > 0]
			if slices.Contains(x.arrow.lost, name) {
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

// fills are the signs of the leases at odds: the earlier one's, the later one's.
var fills = []rune{'#', '%'}

// bars draws what lasts at a time.
func (d *drawing) bars(l *row, at time.Duration) {
	for _, c := range d.columns {
		bar := d.master(c.name, at)
		if c.client {
			bar = d.client(c.name, at)
		}
		for _, r := range bar {
			d.use(r)
		}
		l.put(c.center-1, string(bar[:]))
	}
}

// client is a client's lifeline: the lease that it holds, between brackets in its
// critical section, between exclamation marks while the violation lasts.
func (d *drawing) client(name string, at time.Duration) [3]rune {
	bar := [3]rune{' ', '|', ' '}
	s := d.s
	for _, p := range s.t.pauses {
		if p.client >= 0 && s.t.clients[p.client] == name && p.from <= at && at < p.to {
			bar[0], bar[2] = 'z', 'z'
		}
	}
	for i, lease := range s.leases {
		if lease.Process != name {
			continue
		}
		for _, hold := range lease.Holds() {
			if hold.From <= at && at < hold.To {
				bar[1] = fills[min(i, 1)]
			}
		}
		if s.sections() && lease.EnterIndex >= 0 && lease.Entered <= at && at < lease.Left {
			if bar[0] = '['; bar[2] == ' ' {
				bar[2] = ']'
			}
		}
	}
	if s.v.At <= at && at < s.v.Until && slices.Contains(s.v.Clients, name) && len(s.leases) > 1 {
		bar[0], bar[2] = '!', '!'
	}
	return bar
}

// sections says whether critical sections matter to the violation.
func (s *scene) sections() bool {
	return s.v.Level != checker.MutualExclusion.Level && s.v.Level != checker.FencingMonotone.Level
}

// master is a master's lifeline: whose token it stores.
func (d *drawing) master(name string, at time.Duration) [3]rune {
	bar := [3]rune{' ', '|', ' '}
	s := d.s
	for _, x := range s.t.stored {
		if s.t.masters[x.master] == name && s.t.keys[x.key] == s.v.Key && x.from <= at && at < x.to {
			if bar[1] = ':'; s.lease(x.token) >= 0 {
				bar[1] = fills[min(s.lease(x.token), 1)]
			}
		}
	}
	for _, a := range s.requests {
		for _, v := range a.votes {
			if v.Master != name || v.At-v.Took > at || at >= v.At || !v.Yes || !s.deletes(a) {
				continue
			}
			if x, ok := s.storedAt(name, v.At-v.Took); ok { // until its reply, as far as is known
				bar[1] = fills[min(s.lease(x.token), 1)]
			}
		}
	}
	for _, x := range s.t.states {
		if s.t.masters[x.master] != name || x.from > at || at >= x.to {
			continue
		}
		if x.is == "down" {
			return [3]rune{' ', '.', ' '}
		}
		bar[0], bar[2] = 'z', 'z'
	}
	for _, f := range s.faults {
		if f.Name == "clock" && slices.Contains(f.Masters, name) && f.From <= at && at < f.To {
			bar[0], bar[2] = '~', '~'
		}
	}
	return bar
}

// legend explains the signs that were used.
func (d *drawing) legend(width int, hidden []string) {
	s := d.s
	var told []string
	for i, l := range s.leases {
		if r := fills[min(i, 1)]; d.used[r] {
			which := "the lease of " + l.Process
			if i == 1 && s.leases[0].Process == l.Process {
				which = "its later lease"
			}
			told = append(told, fmt.Sprintf("%c %s, and its token", r, which))
		}
	}
	for _, x := range []struct {
		sign rune
		says string
	}{
		{':', ": another token"}, {'[', "[ ] in its critical section"}, {'!', "! ! the violation"}, {'z', "z z stopped"}, {'~', "~ ~ its clock is wrong"}, {'.', ". down"}, {'x', "x lost on its way"},
	} {
		if d.used[x.sign] {
			told = append(told, x.says)
		}
	}
	if strings.Contains(d.out.String(), "?") {
		told = append(told, "? no answer")
	}
	if len(told)+len(hidden) > 0 {
		d.out.WriteByte('\n')
	}
	for _, l := range wrapAt(told, width) {
		fmt.Fprintln(&d.out, l)
	}
	if len(hidden) > 0 {
		d.out.WriteString(strings.Join(wrap("Not drawn, for they matter least: "+checker.Enumerate(hidden)+".", width), "\n") + "\n")
	}
}

// wrapAt sets pieces side by side, as many as fit.
func wrapAt(pieces []string, width int) []string {
	var rows []string
	for _, p := range pieces {
		p = printable(p)
		if n := len(rows); n > 0 && utf8.RuneCountInString(rows[n-1])+4+utf8.RuneCountInString(p) <= width {
			rows[n-1] += "    " + p
		} else {
			rows = append(rows, p)
		}
	}
	return rows
}
