package reports

import (
	"cmp"
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// scene is a violation with what led to it: who took part, and what happened, step by
// step. Of a long run it has only what explains the violation: the attempts by which
// the leases at odds were granted, the faults that the checker blames or that kept a
// master from answering, and what the clients believed, from the first of these to the
// end of the violation.
type scene struct {
	h        *history.History
	v        *checker.Violation
	t        *timeline
	requests []*request       // on the violation's key, of the whole run
	leases   []*history.Lease // at odds, the earlier first
	clients  []string         // that take part, the holder of the earlier lease first
	masters  []string         // that were asked or struck
	faults   []*history.Fault
	from     time.Duration // the first request that led to it
	steps    []step
}

// step is one thing that happened, or what happened at once.
type step struct {
	at    time.Duration
	order int // among steps of one instant: twice the index of the history's line
	text  string
	marks []mark   // what the diagram writes into the columns
	arrow *arrow   // nil: nothing was sent
	ask   *request // that the arrow is about

	ends   bool // it may be what ends the violation
	proves bool // the checker names it
}

// maxClients is how many clients are told of where many are in the same trouble.
const maxClients = 3

// mark is a word in the column of a client or a master.
type mark struct {
	who, word string
}

// arrow is what one client and some masters send each other.
type arrow struct {
	client  string
	masters []string
	lost    []string // of these, those that it did not reach, as far as is known
	back    bool     // from the masters to the client
}

// sceneOf puts together what explains a violation. It goes through the whole history
// once or twice.
func sceneOf(h *history.History, v *checker.Violation) *scene {
	s := &scene{h: h, v: v, t: timelineOf(h), requests: requestsOf(h, v.Key)}
	s.findLeases()
	shown := s.choose()
	s.findFaults(shown)
	s.cast(shown)
	for _, a := range shown {
		s.tellRequest(a)
	}
	s.tellVain(shown)
	for _, l := range s.leases {
		s.tellLease(l)
	}
	for _, f := range s.faults {
		s.tellFault(f)
	}
	s.tellOperations()
	slices.SortStableFunc(s.steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	s.cut()
	s.join()
	return s
}

// cut takes out what happens at the very instant at which the violation ends, but for
// what ends it.
func (s *scene) cut() {
	if s.v.Until == s.v.At {
		return
	}
	ended := false
	s.steps = slices.DeleteFunc(s.steps, func(x step) bool {
		if x.at < s.v.Until {
			return false
		}
		last := x.ends && !ended
		ended = ended || last
		return !last && !x.proves
	})
}

func (s *scene) findLeases() {
	all := history.Leases(s.h.Ops)
	for i, token := range s.v.Tokens {
		for _, l := range all {
			if l.Token == token && l.Key == s.v.Key && (i >= len(s.v.Clients) || l.Process == s.v.Clients[i]) && !slices.Contains(s.leases, l) {
				s.leases = append(s.leases, l)
				break
			}
		}
	}
}

// choose picks the requests that matter: those by which the leases were granted and
// kept, those that deleted their keys, and of a client that got no lease the last.
func (s *scene) choose() []*request {
	var shown []*request
	add := func(a *request) {
		if a != nil && !slices.Contains(shown, a) {
			shown = append(shown, a)
		}
	}
	for _, l := range s.leases {
		for _, a := range s.attempt(l) {
			add(a)
		}
	}
	s.from = s.v.At
	for _, a := range shown {
		s.from = min(s.from, a.sent)
	}
	for _, l := range s.leases {
		kept := s.of(l, history.CommandExtend, s.from, s.v.Until)
		for _, a := range kept[max(0, len(kept)-2):] { // an old extension was overtaken by later ones
			add(a)
		}
		for _, a := range s.of(l, history.CommandRelease, s.from, s.v.Until) {
			add(a)
		}
	}
	for _, a := range s.requests {
		if a.sent >= s.from && a.sent < s.v.Until && s.deletes(a) {
			add(a)
		}
	}
	for _, client := range s.v.Clients[:min(len(s.v.Clients), maxClients)] {
		if !slices.ContainsFunc(s.leases, func(l *history.Lease) bool { return l.Process == client }) {
			last := s.last(client)
			add(last)
			if last != nil {
				s.from = min(s.from, last.sent)
			}
		}
	}
	slices.SortStableFunc(shown, func(a, b *request) int { return cmp.Compare(a.sent, b.sent) })
	return shown
}

// cast lists who takes part.
func (s *scene) cast(shown []*request) {
	client := func(name string) {
		if name != "" && !slices.Contains(s.clients, name) {
			s.clients = append(s.clients, name)
		}
	}
	var masters numbering
	for _, l := range s.leases {
		client(l.Process)
	}
	for _, name := range s.v.Clients[:min(len(s.v.Clients), maxClients)] {
		client(name)
	}
	for _, a := range shown {
		client(a.client)
		for _, v := range a.votes {
			masters.add(v.Master)
		}
	}
	for _, f := range s.faults {
		for _, m := range f.Masters {
			masters.add(m)
		}
	}
	for _, i := range s.v.Ops {
		if op := s.op(i); op != nil && op.F == history.FLook {
			masters.add(op.Process)
		}
	}
	masters.sort()
	s.masters = masters.list
}

// findFaults takes the faults that the checker blames, and those that kept masters
// from answering what is shown.
func (s *scene) findFaults(shown []*request) {
	for _, f := range s.t.faults {
		if f.Installed && (slices.Contains(s.v.Faults, f.ID) || slices.ContainsFunc(shown, func(a *request) bool {
			return slices.ContainsFunc(a.votes, func(v history.Vote) bool { return s.silences(f, v) })
		})) {
			s.faults = append(s.faults, f)
		}
	}
}

func (s *scene) op(i int) *history.Op {
	if i < 0 || i >= len(s.h.Ops) {
		return nil
	}
	return &s.h.Ops[i]
}

// lease is the number of the lease at odds that has a token, -1: none has.
func (s *scene) lease(token string) int {
	return slices.IndexFunc(s.leases, func(l *history.Lease) bool { return l.Token == token })
}

func (s *scene) add(at time.Duration, order int, text string, marks ...mark) *step {
	s.steps = append(s.steps, step{at: at, order: order, text: text, marks: marks})
	return &s.steps[len(s.steps)-1]
}

// before is the order of something that happened at a time and has no line: before
// all lines of that instant.
func (s *scene) before(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(s.h.Ops, at, func(op history.Op, at time.Duration) int { return cmp.Compare(op.Time, at) })
	return 2*i - 1
}

// join makes one step of the replies that came one after the other, and of what their
// client did the moment it had them.
func (s *scene) join() {
	var joined []step
	for _, x := range s.steps {
		if n := len(joined); n > 0 && joined[n-1].follows(&x) {
			last := &joined[n-1]
			last.at = x.at
			for _, m := range x.marks {
				if !slices.ContainsFunc(last.marks, func(o mark) bool { return o.who == m.who }) { // the first word says more
					last.marks = append(last.marks, m)
				}
			}
			if x.arrow != nil {
				last.arrow.masters = append(last.arrow.masters, x.arrow.masters...)
				last.arrow.lost = append(last.arrow.lost, x.arrow.lost...)
			} else {
				last.text += "\n" + x.text
			}
			continue
		}
		joined = append(joined, x)
	}
	s.steps = joined
	for i := range s.steps {
		if x := &s.steps[i]; x.arrow != nil && x.arrow.back {
			x.text = s.replies(x.ask, x.arrow.masters) + afterLine(x.text)
		}
	}
}

// follows says whether next belongs to a step of replies.
func (x *step) follows(next *step) bool {
	if x.arrow == nil || !x.arrow.back {
		return false
	}
	if next.arrow != nil {
		return next.ask == x.ask && next.arrow.back && len(afterLine(x.text)) == 0
	}
	return next.at == x.at && len(next.marks) == 1 && next.marks[0].who == x.arrow.client
}
