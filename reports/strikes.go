package reports

import (
	"slices"
	"strconv"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/search"
)

// strikeTable counts, by kind of fault and step of the protocol, the faults that struck clients and
// the violations that these faults explain.
type strikeTable struct {
	Steps []string
	Rows  []strikeRow
}

type strikeRow struct {
	Kind  string
	Cells []strikeCell // one for each step
}

// strikeCell counts the faults of one kind that struck clients in one step.
type strikeCell struct {
	Step       string
	Strikes    int // pairs of a fault and a client
	Violations int // violations that one of these faults explains, of a client that it struck in this step
	Faults     []int
}

// IDs lists the numbers of the faults, for the page's script.
func (c strikeCell) IDs() string {
	var ids []string
	for _, id := range c.Faults {
		ids = append(ids, strconv.Itoa(id))
	}
	return strings.Join(ids, " ")
}

// strikesOf counts the faults of a run by kind and by the step in which they struck a client; nil:
// none did.
func strikesOf(h *history.History, r *judge.Result) *strikeTable {
	t := &strikeTable{Steps: search.ProtocolSteps}
	explains := map[int][]int{} // by fault: numbers of the violations
	var clients [][]string      // by number of the violation
	for _, verdict := range r.Verdicts {
		for i := range verdict.Violations {
			for _, id := range verdict.Violations[i].Faults {
				explains[id] = append(explains[id], len(clients))
			}
			clients = append(clients, verdict.Violations[i].Clients)
		}
	}
	counted := map[*strikeCell]map[int]bool{}
	for _, s := range search.Strikes(h) {
		at := slices.IndexFunc(t.Rows, func(r strikeRow) bool { return r.Kind == s.Fault.Name })
		if at < 0 {
			row := strikeRow{Kind: s.Fault.Name}
			for _, step := range t.Steps {
				row.Cells = append(row.Cells, strikeCell{Step: step})
			}
			at, t.Rows = len(t.Rows), append(t.Rows, row)
		}
		c := &t.Rows[at].Cells[slices.Index(t.Steps, s.Step)]
		c.Strikes++
		if n := len(c.Faults); n == 0 || c.Faults[n-1] != s.Fault.ID {
			c.Faults = append(c.Faults, s.Fault.ID)
		}
		for _, v := range explains[s.Fault.ID] {
			if !slices.Contains(clients[v], s.Client) {
				continue
			}
			if counted[c] == nil {
				counted[c] = map[int]bool{}
			}
			if !counted[c][v] {
				counted[c][v] = true
				c.Violations++
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
