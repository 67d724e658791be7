package world

import "time"

// Strategy changes the order of events, which a World without a Strategy draws uniformly. A
// Strategy serves one run.
//
// Processes have numbers: each coroutine has one, from 1, and events without a coroutine
// (messages, masters) have 0. The parameter who contains these numbers.
type Strategy interface {
	// Next returns the index in who of the event of this instant that happens first. who has at
	// least two entries.
	Next(c Choices, who []int) int
	// Stall returns the time for which a process that could continue now must wait. It is
	// called each time a process is about to continue.
	Stall(c Choices, who int) time.Duration
}

// PCT implements probabilistic concurrency testing (Burckhardt et al., "A randomized scheduler
// with probabilistic guarantees of finding bugs"): each process has a random priority, the
// process with the highest one runs first, and at a few random steps the running process gets a
// priority below all others. A bug that needs d such changes in a run of k steps of n processes
// is found with a probability of at least 1/(n·k^d).
//
// In virtual time a process also falls behind if it is merely slow, so at a change point it is
// stalled in addition: a pause of a client at any step.
type PCT struct {
	Changes int           // how many change points a run has (d)
	Steps   int           // the number of process steps from which they are drawn (k)
	Pause   time.Duration // the longest stall at a change point

	step     int
	changes  map[int]int // from step to priority; nil: not drawn yet
	priority map[int]int // by process
}

// Next returns the process with the highest priority, and the first of several.
func (p *PCT) Next(c Choices, who []int) int {
	best := 0
	for i := range who {
		if p.of(c, who[i]) > p.of(c, who[best]) {
			best = i
		}
	}
	return best
}

func (p *PCT) of(c Choices, who int) int {
	v, known := p.priority[who]
	if !known {
		if p.priority == nil {
			p.priority = map[int]int{}
		}
		v = p.Changes + 1 + c.Intn(1<<30, WhatPCT)
		p.priority[who] = v
	}
	return v
}

// Stall counts the steps, and stalls a process at a change point.
func (p *PCT) Stall(c Choices, who int) time.Duration {
	if p.changes == nil {
		p.changes = map[int]int{}
		for i := range p.Changes {
			p.changes[c.Intn(max(p.Steps, 1), WhatPCT)] = p.Changes - i
		}
	}
	to, change := p.changes[p.step]
	p.step++
	if !change {
		return 0
	}
	p.of(c, who)
	p.priority[who] = to
	return time.Duration(c.Intn(int(p.Pause)+1, WhatPCT))
}
