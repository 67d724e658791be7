package reports

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// timeline is a history arranged in lanes for drawing: the actions of each client and each master
// with their times.
type timeline struct {
	end      time.Duration
	clients  []string
	masters  []string
	keys     []string
	attempts []attempt
	writes   []write
	pauses   []pause
	states   []state
	stored   []stored
	faults   []*history.Fault
	imported bool // the history was imported from logs
}

// outcome is the result of an acquire as its client saw it.
type outcome int

const (
	granted outcome = iota
	refused
	unknown // the client does not know the result, or received none
)

// attempt is one acquire of one client with the replies of the masters, and the lease if one was
// granted.
type attempt struct {
	client, key int           // positions in timeline.clients and timeline.keys
	invoked     time.Duration // when the acquire began
	returned    time.Duration // when it returned; if it never did, the end of the history
	outcome     outcome
	index       int            // line of the invocation
	returnIndex int            // line of the return; -1: it never returned
	token       string         // of the lease, else of the last try
	tries       []string       // the tokens of all tries, in order
	err         string         // why it was refused
	lease       *history.Lease // nil: none was granted
	votes       []history.Vote // on all its commands, in the order of the replies
	log         []string       // of imported logs: the log lines of this acquire
}

// pause is a period during which a client was stopped.
type pause struct {
	client   int
	from, to time.Duration
	point    string // point in the protocol where it was stopped; empty: any
}

func timelineOf(h *history.History) *timeline {
	t := &timeline{faults: history.Faults(h.Ops), imported: h.Header.Driver == history.Imported}
	if n := len(h.Ops); n > 0 {
		t.end = h.Ops[n-1].Time
	}
	names := namesOf(h)
	t.clients, t.masters, t.keys = names.clients.list, names.masters.list, names.keys.list
	byToken := t.addAttempts(h.Ops, names)
	t.addPauses(h.Ops, names)
	t.addWrites(h.Ops, names, byToken)
	t.addStates(h.Ops, names)
	t.addStored(h, names, byToken)
	return t
}

// numbering maps names to their positions.
type numbering struct {
	list []string
	at   map[string]int
}

func (n *numbering) add(name string) {
	if n.at == nil {
		n.at = map[string]int{}
	}
	if _, ok := n.at[name]; !ok && name != "" {
		n.at[name] = 0
		n.list = append(n.list, name)
	}
}

// sort sorts the names by their trailing numbers: c2 before c10.
func (n *numbering) sort() {
	slices.SortFunc(n.list, history.CompareNames)
	for i, name := range n.list {
		n.at[name] = i
	}
}

// of returns the position of a name, or -1.
func (n *numbering) of(name string) int {
	if i, ok := n.at[name]; ok {
		return i
	}
	return -1
}

type names struct{ clients, masters, keys numbering }

// namesOf sorts processes into masters and clients by their operations: a process that votes or
// reports its state is a master. Any other is a client, unless it is the nemesis, the resource or
// the harness.
func namesOf(h *history.History) *names {
	n := &names{}
	for i := range h.Header.Masters {
		n.masters.add("m" + strconv.Itoa(i+1))
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		switch {
		case op.F == history.FVote:
			n.masters.add(op.Process)
			if op.Value != nil {
				n.clients.add(op.Value.Client)
			}
		case op.F == history.FState, op.F == history.FSnapshot:
			n.masters.add(op.Process)
		case op.Process != history.Nemesis && op.Process != history.Resource && op.Process != history.Harness:
			n.clients.add(op.Process)
		}
		n.keys.add(op.Key)
	}
	n.clients.sort()
	n.masters.sort()
	n.keys.sort()
	return n
}

// addAttempts pairs the lines of each acquire, adds its votes and its lease, and returns the
// attempt of each token.
//
// A granted acquire names its token. A refused one need not, and one acquire may try several
// tokens. So a token that no return names belongs to the latest acquire that its client had begun
// when the first vote on the token came.
func (t *timeline) addAttempts(ops []history.Op, n *names) map[string]int {
	byToken := map[string]int{}
	latest := map[string]int{} // by client: its latest attempt
	open := map[string]bool{}  // by client: its latest attempt has not returned
	for i := range ops {
		op := &ops[i]
		switch {
		case op.F == history.FAcquire && op.Type == history.Invoke:
			latest[op.Process], open[op.Process] = len(t.attempts), true
			t.attempts = append(t.attempts, attempt{
				client: n.clients.of(op.Process), key: n.keys.of(op.Key), invoked: op.Time, returned: t.end,
				outcome: unknown, index: op.Index, returnIndex: -1,
			})
		case op.F == history.FAcquire:
			if !open[op.Process] {
				continue // a return without an invocation
			}
			open[op.Process] = false
			a := &t.attempts[latest[op.Process]]
			a.returned, a.returnIndex, a.err = op.Time, op.Index, op.Error
			switch op.Type {
			case history.OK:
				a.outcome = granted
			case history.Fail:
				a.outcome = refused
			}
			if op.Value != nil && op.Value.Token != "" {
				a.token = op.Value.Token
				if _, ok := byToken[a.token]; !ok {
					a.tries = append(a.tries, a.token)
				}
				byToken[a.token] = latest[op.Process]
				if op.Value.Evidence != "" {
					a.log = append(a.log, "acquired: "+op.Value.Evidence)
				}
			}
		case t.imported && op.F == history.FRelease && op.Type == history.Invoke:
			if at, ok := byToken[op.Value.Token]; ok {
				t.attempts[at].log = append(t.attempts[at].log, "released: "+op.Value.Evidence)
			}
		case op.F == history.FVote && op.Value != nil && op.Value.Token != "":
			if _, ok := byToken[op.Value.Token]; ok {
				continue
			}
			if at, ok := latest[op.Value.Client]; ok {
				byToken[op.Value.Token] = at
				a := &t.attempts[at]
				a.tries = append(a.tries, op.Value.Token)
				if a.outcome != granted {
					a.token = op.Value.Token
				}
			}
		}
	}
	for _, v := range history.Votes(ops) {
		if at, ok := byToken[v.Token]; ok {
			t.attempts[at].votes = append(t.attempts[at].votes, v)
		}
	}
	for _, l := range history.Leases(ops) {
		if at, ok := byToken[l.Token]; ok && t.attempts[at].outcome == granted {
			t.attempts[at].lease = l
		}
	}
	return byToken
}

// addPauses adds the pauses that clients recorded, and the windows of faults that pause a client
// without any such record.
func (t *timeline) addPauses(ops []history.Op, n *names) {
	open := map[string][]int{} // by client: its current pauses; the first to begin is the first to end
	for i := range ops {
		op := &ops[i]
		if op.F != history.FPaused {
			continue
		}
		if op.Type == history.Invoke {
			open[op.Process] = append(open[op.Process], len(t.pauses))
			p := pause{client: n.clients.of(op.Process), from: op.Time, to: t.end}
			if op.Value != nil {
				p.point = op.Value.Point
			}
			t.pauses = append(t.pauses, p)
		} else if going := open[op.Process]; len(going) > 0 {
			t.pauses[going[0]].to = op.Time
			open[op.Process] = going[1:]
		}
	}
	fromHistory := len(t.pauses)
	for _, f := range t.faults {
		if fault.Of(f.Name).Client != fault.ClientStops || !f.Installed {
			continue
		}
		for _, name := range f.Clients {
			c := n.clients.of(name)
			if c >= 0 && !slices.ContainsFunc(t.pauses[:fromHistory], func(p pause) bool {
				return p.client == c && p.from < f.To && f.From < p.to
			}) {
				t.pauses = append(t.pauses, pause{client: c, from: f.From, to: f.To})
			}
		}
	}
	slices.SortStableFunc(t.pauses, func(a, b pause) int { return cmp.Compare(a.from, b.from) })
}
