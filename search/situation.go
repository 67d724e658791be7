package search

import (
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// situation is what a fault found when it struck a client: what exploration by coverage counts.
type situation struct {
	fault    string
	step     string // of the client: one of ProtocolSteps
	votes    int    // masters that had granted the client's last attempt
	impaired int    // masters that other faults held then: down, still, cut off or slow
	before   string // the kind of the fault that struck last before; "": none
}

// most is where counts of a situation end: more masters are no other situation.
const most = 3

// situations are those of a history, each once.
func situations(h *history.History) map[situation]bool {
	all := map[situation]bool{}
	strikes := Strikes(h)
	if len(strikes) == 0 {
		return all
	}
	votes := votesOf(h.Ops)
	faults := history.Faults(h.Ops)
	var last *history.Fault // the fault of the strikes before
	before := ""
	for _, s := range strikes {
		if s.Fault != last {
			if last != nil {
				before = last.Name
			}
			last = s.Fault
		}
		all[situation{s.Fault.Name, s.Step, min(most, votesAt(votes[s.Client], s.Fault.From)), min(most, impairedAt(faults, s.Fault)), before}] = true
	}
	return all
}

// impairedAt is how many masters other faults held when a fault struck.
func impairedAt(faults []*history.Fault, struck *history.Fault) int {
	held := map[string]bool{}
	for _, f := range faults {
		kind := fault.Of(f.Name)
		if f == struck || !f.Installed || f.From > struck.From || f.Healed && f.To <= struck.From || kind.Hits == fault.Clients {
			continue
		}
		for _, m := range f.Masters {
			held[m] = true
		}
	}
	return len(held)
}

// votesOf follows, for each client, how many masters granted its last attempt.
func votesOf(ops []history.Op) map[string][]count {
	all := map[string][]count{}
	tokens := map[string]string{}
	for i := range ops {
		op := &ops[i]
		if op.F != history.FVote || op.Value == nil || op.Value.Command != history.CommandSet || !op.Value.Yes {
			continue
		}
		client, n := op.Value.Client, 1
		if c := all[client]; tokens[client] == op.Value.Token && len(c) > 0 {
			n = c[len(c)-1].n + 1
		}
		tokens[client] = op.Value.Token
		all[client] = append(all[client], count{op.Time, n})
	}
	return all
}

// count is a number from a time on.
type count struct {
	from time.Duration
	n    int
}

func votesAt(counts []count, t time.Duration) int {
	n := 0
	for _, c := range counts {
		if c.from > t {
			break
		}
		n = c.n
	}
	return n
}
