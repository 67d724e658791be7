package campaign

import (
	"lockpick/cluster/sim/world"
	"lockpick/history"
)

// Pool reuses the memory of a simulated run for the next one, for a search that simulates many schedules one
// after the other. A run overwrites the history of the previous run with the same pool. The owner must close
// the pool.
type Pool struct {
	history *history.Pool
	world   *world.Pool
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{&history.Pool{}, &world.Pool{}} }

// Close ends the coroutines that the pool holds for reuse.
func (p *Pool) Close() { p.world.Close() }

// abandon gives up all memory of the pool, because a run that cannot be ended still uses it.
func (p *Pool) abandon() { *p = *NewPool() }
