package search

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// situation describes a client at the moment when a fault struck it. It is the unit of coverage of an
// exploration by coverage.
type situation struct {
	fault    string // kind of the fault
	step     string // the client's step, one of ProtocolSteps
	votes    int    // masters that had granted the client's last attempt
	impaired int    // masters that other faults affected at that time
	before   string // kind of the previous fault; "": none
}

// mostCounted is the largest count in a situation. Larger counts are recorded as this one.
const mostCounted = 3

func compareSituations(a, b situation) int {
	return cmp.Or(cmp.Compare(a.fault, b.fault), cmp.Compare(a.step, b.step), cmp.Compare(a.votes, b.votes),
		cmp.Compare(a.impaired, b.impaired), cmp.Compare(a.before, b.before))
}

// situations returns the situations of a history, each once and sorted.
func situations(h *history.History, strikes []Strike) []situation {
	var all []situation
	if len(strikes) == 0 {
		return nil
	}
	votes := votesOf(h.Ops)
	faults := history.Faults(h.Ops)
	var struck *history.Fault // the fault of the previous strike
	before := ""
	for _, s := range strikes {
		if s.Fault != struck {
			if struck != nil {
				before = struck.Name
			}
			struck = s.Fault
		}
		all = append(all, situation{
			fault: s.Fault.Name, step: s.Step, votes: min(mostCounted, votesAt(votes[s.Client], s.Fault.From)),
			impaired: min(mostCounted, impairedAt(faults, s.Fault)), before: before,
		})
	}
	slices.SortFunc(all, compareSituations)
	return slices.Compact(all)
}

// impairedAt counts the masters that other faults affected when a fault struck: masters that were down, paused,
// cut off from a client or slow.
func impairedAt(faults []*history.Fault, struck *history.Fault) int {
	impaired := map[string]bool{}
	for _, f := range faults {
		if f.ID == struck.ID || !f.Installed || f.From > struck.From || f.Healed && f.To <= struck.From || fault.Of(f.Name).Hits == fault.Clients {
			continue
		}
		for _, m := range f.Masters {
			impaired[m] = true
		}
	}
	return len(impaired)
}

// votesOf returns, for each client, how many masters had granted its last attempt, after each vote.
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

// count is a number that applies from a time on.
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
