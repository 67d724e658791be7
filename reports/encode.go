package reports

import (
	"encoding/json"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// packed is the timeline as the page's scripts read it (page/data.js). Times are whole
// microseconds. Frequent items are columns of numbers rather than objects, and their times are
// relative to the previous row or to the row that they belong to. Such columns are short to write,
// quick to read, and ready for typed arrays.
type packed struct {
	End        int64             `json:"end"`
	TTL        int64             `json:"ttl"`
	Quorum     int               `json:"quorum"`
	Clients    []string          `json:"clients"`
	Masters    []string          `json:"masters"`
	Keys       []string          `json:"keys"`
	Texts      []string          `json:"texts"` // errors, points, log lines, tokens of earlier tries; 0: none
	Attempts   packedAttempts    `json:"attempts"`
	Leases     packedLeases      `json:"leases"`
	Votes      *packedVotes      `json:"votes"` // nil: encoded separately
	Stored     packedStored      `json:"stored"`
	Writes     packedWrites      `json:"writes"`
	Grants     [][]int64         `json:"grants"` // of extensions: lease, at, until
	Holds      [][]int64         `json:"holds"`  // after a lease's first: lease, from, to
	Pauses     [][]int64         `json:"pauses"` // client, from, to, point
	States     [][]int64         `json:"states"` // master, from, to, 0 paused or 1 down
	Clocks     [][]int64         `json:"clocks"` // master, at, offset; empty if all clocks were right
	Faults     []packedFault     `json:"faults"`
	Violations []packedViolation `json:"violations"`
	Marks      packedMarks       `json:"marks"`
	Lines      packedLines       `json:"lines"`
}

type packedAttempts struct {
	Client  []int    `json:"client"`
	Key     []int    `json:"key"`
	At      []int64  `json:"at"`   // since the previous row
	Took    []int64  `json:"took"` // until it returned; if it never did, until the end
	Outcome []int    `json:"outcome"`
	Index   []int    `json:"index"`  // line of the invocation, relative to the previous row
	Return  []int    `json:"return"` // line of the return, relative to Index; 0: it never returned
	Token   []string `json:"token"`
	Error   []int    `json:"error"`
	Votes   []int    `json:"votes"`         // number of votes
	Tries   []int    `json:"tries"`         // number of tries
	Log     []int    `json:"log,omitempty"` // of imported logs: a text with the log lines of the attempt
}

type packedLeases struct {
	Attempt []int   `json:"attempt"` // relative to the previous row
	Until   []int64 `json:"until"`   // since the grant, like all times below; negative: it ended before the grant
	Hold    []int64 `json:"hold"`
	Release []int64 `json:"release"` // -1: never
	Enter   []int64 `json:"enter"`   // -1: never
	Leave   []int64 `json:"leave"`
	Fence   []int64 `json:"fence"`

	// Of locks that several clients may hold:
	Part  []int `json:"part,omitempty"`  // a text: what the lease has of the lock
	Share []int `json:"share,omitempty"` // percent of the lock; a reader: half of it
}

type packedVotes struct { // in the order of the attempts
	Master []int   `json:"master"`
	Code   []int   `json:"code"` // three times the code of the command, plus 0 yes, 1 no, 2 no reply
	At     []int64 `json:"at"`   // since the invocation of the attempt
	Took   []int64 `json:"took"`
	Error  []int   `json:"error"`
	Try    []int   `json:"try"` // 0: the attempt's own token; else the number of an earlier try, from 1
}

type packedStored struct {
	Master  []int   `json:"master"`
	Key     []int   `json:"key"`
	Attempt []int   `json:"attempt"`
	Token   []int   `json:"token"` // a text; 0: the token of the attempt
	From    []int64 `json:"from"`  // since the previous row
	Took    []int64 `json:"took"`
	Ending  []int   `json:"ending"`
}

type packedWrites struct {
	Attempt []int   `json:"attempt"`
	Client  []int   `json:"client"`
	Key     []int   `json:"key"`
	At      []int64 `json:"at"` // since the previous row
	Effect  []int   `json:"effect"`
	Twin    []int   `json:"twin"`
	Value   []int64 `json:"value"`
	Fence   []int64 `json:"fence"`
	Index   []int   `json:"index"`
}

type packedFault struct {
	ID         int    `json:"id"`
	Name       string `json:"name"`
	Masters    []int  `json:"masters"`
	Clients    []int  `json:"clients"`
	From       int64  `json:"from"`
	To         int64  `json:"to"`
	TookEffect bool   `json:"bit"`
	Params     string `json:"params"`
	Evidence   string `json:"evidence"`
	Problem    string `json:"problem"`
	Colour     string `json:"colour"`
}

type packedViolation struct {
	Level    string   `json:"level"`
	Property string   `json:"property"`
	Key      int      `json:"key"`
	At       int64    `json:"at"`
	Until    int64    `json:"until"`
	Attempts []int    `json:"attempts"`
	Clients  []int    `json:"clients"`
	Faults   []int    `json:"faults"`
	Ops      []int    `json:"ops"`
	Summary  string   `json:"summary"`
	Reason   []string `json:"reason"`
	When     []int64  `json:"when"` // times of the steps of the reason; empty: unknown
}

// packedMarks are the violations without an explanation.
type packedMarks struct {
	Kinds   [][2]string `json:"kinds"` // level, property
	Kind    []int       `json:"kind"`
	Key     []int       `json:"key"`
	At      []int64     `json:"at"`      // since the previous row
	Took    []int64     `json:"took"`    // duration of the violation
	Clients []int       `json:"clients"` // number of clients
	Client  []int       `json:"client"`
	Op      []int       `json:"op"`
}

// commands maps the commands of votes to their codes.
var commands = map[string]int{history.CommandSet: 0, history.CommandExtend: 1, history.CommandRelease: 2, history.CommandWriteBack: 3, history.CommandRead: 4}

// packer builds the data of the page. It keeps repeated texts once.
type packer struct {
	packed
	textAt map[string]int
}

// encode returns the data of the page as JSON. In a long run it returns the votes separately;
// otherwise votes is nil.
func (t *timeline) encode(h *history.History, run string, violations []listed, kinds []checker.Property, marks []unexplained) (data, votes []byte, err error) {
	p := &packer{
		packed: packed{
			End: micros(t.end), TTL: micros(h.Header.TTL), Quorum: h.Header.Quorum,
			Clients: some(t.clients), Masters: some(t.masters), Keys: some(t.keys), Texts: []string{""},
			Grants: [][]int64{}, Holds: [][]int64{}, Pauses: [][]int64{}, States: [][]int64{}, Faults: []packedFault{}, Violations: []packedViolation{}, Votes: &packedVotes{},
		},
		textAt: map[string]int{"": 0},
	}
	p.attempts(&h.Header, t)
	p.stored(t)
	p.writes(t)
	for _, x := range t.pauses {
		p.Pauses = append(p.Pauses, []int64{int64(x.client), micros(x.from), micros(x.to), int64(p.text(x.point))})
	}
	for _, s := range t.states {
		is := int64(1)
		if s.is == "paused" {
			is = 0
		}
		p.States = append(p.States, []int64{int64(s.master), micros(s.from), micros(s.to), is})
	}
	p.Clocks = clocksOf(h, t)
	p.faults(t)
	p.violations(t, violations)
	p.marks(t, kinds, marks)
	if p.Lines, err = linesOf(h, run, violations); err != nil {
		return nil, nil, err
	}
	unpacked := p.Votes
	p.Votes = nil
	if data, err = json.Marshal(&p.packed); err != nil {
		return nil, nil, err
	}
	if votes, err = json.Marshal(unpacked); err != nil || len(data)+len(votes) >= deflateFrom {
		return data, votes, err
	}
	p.Votes = unpacked
	data, err = json.Marshal(&p.packed)
	return data, nil, err
}

func (p *packer) attempts(h *history.Header, t *timeline) {
	a, v, l := &p.Attempts, p.Votes, &p.Leases
	before, lineBefore, leaseBefore := int64(0), 0, 0
	for i := range t.attempts {
		x := &t.attempts[i]
		invoked, returned := micros(x.invoked), micros(x.returned)
		a.Client = append(a.Client, x.client)
		a.Key = append(a.Key, x.key)
		a.At = append(a.At, invoked-before)
		a.Took = append(a.Took, returned-invoked)
		a.Outcome = append(a.Outcome, int(x.outcome))
		a.Index = append(a.Index, x.index-lineBefore)
		a.Return = append(a.Return, max(x.returnIndex-x.index, 0))
		a.Token = append(a.Token, x.token)
		a.Error = append(a.Error, p.text(x.err))
		a.Votes = append(a.Votes, len(x.votes))
		a.Tries = append(a.Tries, len(x.tries))
		if t.imported {
			a.Log = append(a.Log, p.text(strings.Join(x.log, "; ")))
		}
		before, lineBefore = invoked, x.index
		for _, vote := range x.votes {
			code := 1
			switch {
			case vote.Unknown:
				code = 2
			case vote.Yes:
				code = 0
			}
			v.Master = append(v.Master, position(t.masters, vote.Master))
			v.Code = append(v.Code, 3*commands[vote.Command]+code)
			v.At = append(v.At, micros(vote.At)-invoked)
			v.Took = append(v.Took, micros(vote.Took))
			v.Error = append(v.Error, p.text(vote.Error))
			try := 0
			if vote.Token != x.token {
				try = position(x.tries, vote.Token) + 1
			}
			v.Try = append(v.Try, try)
		}
		if x.lease == nil {
			continue
		}
		since := func(at time.Duration, happened bool) int64 {
			if !happened {
				return -1
			}
			return micros(at) - returned
		}
		number := int64(len(l.Attempt))
		holds := x.lease.Holds()
		l.Attempt = append(l.Attempt, i-leaseBefore)
		l.Until = append(l.Until, micros(x.lease.Until())-returned)
		l.Hold = append(l.Hold, max(micros(holds[0].To)-returned, 0))
		l.Release = append(l.Release, since(x.lease.Released, x.lease.ReleaseIndex >= 0))
		l.Enter = append(l.Enter, since(x.lease.Entered, x.lease.EnterIndex >= 0))
		l.Leave = append(l.Leave, since(x.lease.Left, x.lease.EnterIndex >= 0))
		l.Fence = append(l.Fence, x.lease.Fence)
		if part, share := narrative.Part(h, x.lease); part != "" {
			l.Part, l.Share = append(l.Part, p.text(part)), append(l.Share, share)
		}
		leaseBefore = i
		for _, s := range holds[1:] {
			p.Holds = append(p.Holds, []int64{number, micros(s.From), micros(s.To)})
		}
		for _, g := range x.lease.Grants[1:] {
			p.Grants = append(p.Grants, []int64{number, micros(g.At), micros(g.Until)})
		}
	}
}

func (p *packer) stored(t *timeline) {
	s, before := &p.Stored, int64(0)
	for _, x := range t.stored {
		from := micros(x.from)
		s.Master = append(s.Master, x.master)
		s.Key = append(s.Key, x.key)
		s.Attempt = append(s.Attempt, x.attempt)
		token := 0
		if x.attempt < 0 || t.attempts[x.attempt].token != x.token {
			token = p.text(x.token)
		}
		s.Token = append(s.Token, token)
		s.From = append(s.From, from-before)
		s.Took = append(s.Took, micros(x.to)-from)
		s.Ending = append(s.Ending, int(x.ending))
		before = from
	}
}

func (p *packer) writes(t *timeline) {
	w, before := &p.Writes, int64(0)
	for _, x := range t.writes {
		at, twin := micros(x.at), 0
		if x.twin {
			twin = 1
		}
		w.Attempt = append(w.Attempt, x.attempt)
		w.Client = append(w.Client, x.client)
		w.Key = append(w.Key, x.key)
		w.At = append(w.At, at-before)
		w.Effect = append(w.Effect, int(x.effect))
		w.Twin = append(w.Twin, twin)
		w.Value = append(w.Value, x.value)
		w.Fence = append(w.Fence, x.fence)
		w.Index = append(w.Index, x.index)
		before = at
	}
}

func (p *packer) faults(t *timeline) {
	for _, f := range t.faults {
		if !f.Installed {
			continue
		}
		p.Faults = append(p.Faults, packedFault{
			f.ID, f.Name, positions(t.masters, f.Masters), positions(t.clients, f.Clients), micros(f.From), micros(max(f.To, f.From)),
			f.TookEffect, paramsOf(f), f.Evidence, f.Problem, fault.Of(f.Name).Colour(),
		})
	}
}

func (p *packer) violations(t *timeline, violations []listed) {
	byToken := map[string]int{}
	for i := range t.attempts {
		if t.attempts[i].token != "" {
			byToken[t.attempts[i].token] = i
		}
	}
	for _, v := range violations {
		attempts := []int{}
		for _, token := range v.Tokens {
			if i, ok := byToken[token]; ok {
				attempts = append(attempts, i)
			}
		}
		p.Violations = append(p.Violations, packedViolation{
			v.Level, checker.TitleOf(v.Property), position(t.keys, v.Key), micros(v.At), micros(max(v.Until, v.At)), attempts,
			positions(t.clients, v.Clients), some(v.Faults), some(v.Ops), v.Summary, some(v.Steps()), stepTimes(&v.Violation),
		})
	}
}

// stepTimes returns the times of the steps of a violation's reason, in microseconds.
func stepTimes(v *narrative.Violation) []int64 {
	at := []int64{}
	for _, e := range v.Events {
		if !e.Detail {
			at = append(at, micros(e.At))
		}
	}
	return at
}

func (p *packer) marks(t *timeline, kinds []checker.Property, marks []unexplained) {
	m, before := &p.Marks, int64(0)
	m.Kinds = [][2]string{}
	for _, k := range kinds {
		m.Kinds = append(m.Kinds, [2]string{k.Level, checker.TitleOf(k.Name)})
	}
	key, client := indexOf(t.keys), indexOf(t.clients)
	for _, x := range marks {
		at := micros(x.At)
		m.Kind = append(m.Kind, x.Kind)
		m.Key = append(m.Key, key(x.Key))
		m.At = append(m.At, at-before)
		m.Took = append(m.Took, micros(max(x.Until, x.At))-at)
		n := 0
		for _, c := range x.Clients {
			if i := client(c); i >= 0 {
				m.Client = append(m.Client, i)
				n++
			}
		}
		m.Clients = append(m.Clients, n)
		m.Op = append(m.Op, x.Op)
		before = at
	}
}

func (p *packer) text(s string) int {
	at, ok := p.textAt[s]
	if !ok {
		at = len(p.Texts)
		p.textAt[s] = at
		p.Texts = append(p.Texts, s)
	}
	return at
}

func micros(d time.Duration) int64 { return d.Microseconds() }

// indexOf returns a function like position that is fast for many names.
func indexOf(list []string) func(name string) int {
	at := make(map[string]int, len(list))
	for i, s := range list {
		at[s] = i
	}
	return func(name string) int {
		if i, ok := at[name]; ok {
			return i
		}
		return -1
	}
}

func position(list []string, name string) int {
	for i, s := range list {
		if s == name {
			return i
		}
	}
	return -1
}

func positions(list, names []string) []int {
	at := []int{}
	for _, name := range names {
		if i := position(list, name); i >= 0 {
			at = append(at, i)
		}
	}
	return at
}

// some replaces a nil list by an empty one, because JSON would write nil as null.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
