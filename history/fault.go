package history

import (
	"cmp"
	"time"
)

// Phases of a fault's lines. Installing is an invoke line, then ok (installed)
// or fail (skipped, with the reason in Error); healing is an invoke line,
// then ok (healed, with TookEffect and Evidence) or info (it could not be healed).
const (
	PhaseInstall = "install"
	PhaseHeal    = "heal"
)

// Fault is one injected failure, from its installation to its healing.
type Fault struct {
	ID         int
	Name       string // pause, kill, shutdown, partition, slow, client-pause, …
	Masters    []string
	Clients    []string
	Params     map[string]string // mode, direction, delay, restart-delay, aim, …
	Began      time.Duration     // when its installation began
	From       time.Duration     // when it was installed (0 if never)
	To         time.Duration     // when it was healed; the end of the history if never
	Installed  bool
	Healed     bool
	Skipped    string // why it was not installed
	Problem    string // why it could not be healed
	TookEffect bool   // it is known to have taken effect
	Evidence   string // the observation that shows whether it took effect
	Index      int    // index of the line that installed or skipped it
	HealIndex  int    // index of the line that healed it, -1 if none
}

// Faults returns the faults of a history in the order in which they began.
func Faults(ops []Op) []*Fault {
	var faults []*Fault
	byID := map[int]*Fault{}
	var end time.Duration
	for i := range ops {
		op := &ops[i]
		end = op.Time
		v := op.Value
		if op.Process != Nemesis || v == nil || v.ID == 0 {
			continue
		}
		f := byID[v.ID]
		if f == nil {
			f = &Fault{ID: v.ID, Name: op.F, Began: op.Time, Index: op.Index, HealIndex: -1}
			byID[v.ID] = f
			faults = append(faults, f)
		}
		if v.Masters != nil {
			f.Masters = v.Masters
		}
		if v.Clients != nil {
			f.Clients = v.Clients
		}
		if v.Params != nil {
			f.Params = v.Params
		}
		switch {
		case v.Phase == PhaseInstall && op.Type == OK:
			f.Installed, f.From, f.Index = true, op.Time, op.Index
		case v.Phase == PhaseInstall && op.Type == Fail:
			f.Skipped, f.Index, f.To = cmp.Or(op.Error, "skipped"), op.Index, op.Time
		case v.Phase == PhaseHeal && op.Type == OK:
			f.Healed, f.To, f.HealIndex, f.TookEffect, f.Evidence = true, op.Time, op.Index, v.TookEffect, v.Evidence
		case v.Phase == PhaseHeal && op.Type == Info:
			f.Problem, f.HealIndex, f.TookEffect, f.Evidence = op.Error, op.Index, v.TookEffect, v.Evidence
		}
	}
	for _, f := range faults {
		if f.Skipped == "" && !f.Healed {
			f.To = end
		}
	}
	return faults
}
