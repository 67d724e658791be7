package campaign

import (
	"lockpick/cluster/sim"
	"lockpick/history"
)

// Pool keeps the memory of a simulated run for the next one, for a search that simulates many
// schedules, one after the other. Each run ends the use of the history of the run before it.
// Whoever has a pool closes it.
type Pool struct {
	history *history.Pool
	world   *sim.Pool
}

// NewPool returns a pool that has nothing yet.
func NewPool() *Pool { return &Pool{&history.Pool{}, &sim.Pool{}} }

// Close ends the coroutines that the pool has kept.
func (p *Pool) Close() { p.world.Close() }

// abandon leaves all memory to a run that cannot be ended.
func (p *Pool) abandon() { *p = *NewPool() }
