package judge

import "lockpick/history"

// Counts holds the numbers of operations of each kind.
type Counts struct {
	Operations int `json:"operations"` // lines of the history
	Acquires   int `json:"acquires"`   // calls of acquire
	Granted    int `json:"granted"`    // leases
	Refused    int `json:"refused"`    // acquires that failed
	Extended   int `json:"extended"`   // granted extensions
	Writes     int `json:"writes"`     // writes that the guarded resource applied
	Votes      int `json:"votes"`      // replies of masters
	NoReply    int `json:"no_reply"`   // lock commands without a reply in time
	Faults     int `json:"faults"`     // installed faults
	Skipped    int `json:"skipped"`    // faults that were not installed
	TookEffect int `json:"bit"`        // faults that are known to have taken effect
	Pauses     int `json:"pauses"`     // pauses of clients at named points
}

// Add adds other counts to c.
func (c *Counts) Add(d Counts) {
	c.Operations += d.Operations
	c.Acquires += d.Acquires
	c.Granted += d.Granted
	c.Refused += d.Refused
	c.Extended += d.Extended
	c.Writes += d.Writes
	c.Votes += d.Votes
	c.NoReply += d.NoReply
	c.Faults += d.Faults
	c.Skipped += d.Skipped
	c.TookEffect += d.TookEffect
	c.Pauses += d.Pauses
}

// Count counts the operations of a history.
func Count(h *history.History) Counts {
	var c Counts
	for i := range h.Ops {
		c.Observe(&h.Ops[i])
	}
	c.Strike(history.Faults(h.Ops))
	return c
}

func countPacked(h *history.Packed) Counts {
	var c Counts
	for _, op := range h.All() {
		if op.F != history.FVote { // the last line may be a vote, which is also packed
			c.Observe(op)
		}
	}
	c.Strike(history.Faults(h.Ops))
	c.Operations = h.Lines()
	for n := range h.Len() {
		c.vote(h.Kind(int32(n)).Unknown)
	}
	return c
}

// vote counts a vote.
func (c *Counts) vote(unanswered bool) {
	if unanswered {
		c.NoReply++
	} else {
		c.Votes++
	}
}

// Observe counts one operation. It does not count faults, because each fault has several operations: see
// Strike.
func (c *Counts) Observe(op *history.Op) {
	c.Operations++
	switch {
	case op.F == history.FVote:
		c.vote(op.Type == history.Info)
	case op.F == history.FAcquire && op.Type == history.Invoke:
		c.Acquires++
	case op.F == history.FAcquire && op.Type == history.OK:
		c.Granted++
	case op.F == history.FAcquire:
		c.Refused++
	case op.F == history.FExtend && op.Type == history.OK:
		c.Extended++
	case op.F == history.FApply && op.Type == history.OK && op.Value != nil && !op.Value.Fenced:
		c.Writes++
	case op.F == history.FPaused && op.Type == history.Invoke:
		c.Pauses++
	}
}

// Strike counts faults.
func (c *Counts) Strike(all []*history.Fault) {
	for _, f := range all {
		switch {
		case !f.Installed:
			c.Skipped++
		case f.TookEffect:
			c.Faults, c.TookEffect = c.Faults+1, c.TookEffect+1
		default:
			c.Faults++
		}
	}
}
