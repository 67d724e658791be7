// Package crew runs many tasks at the same time: with a fixed number of workers, or, for tasks that mostly wait, with as
// many as keep the machine busy and no more.
package crew

import (
	"iter"
	"runtime"
	"sync"
	"time"
)

// Crew is how many tasks run at a time.
type Crew struct {
	least, most int
	// busy returns the part of the processors' time that was used since the call before, by all programs. nil: the
	// number of workers stays.
	busy func() float64
}

// Of is a crew of n workers, or without n as many as there are processors: for tasks that compute.
func Of(n int) Crew {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return Crew{least: n, most: n}
}

// OnMasters is a crew for runs on real masters: of n workers, or without n of one more than there are processors, and
// of up to eight for each processor while the processors are idle. A run mostly waits: with clients in Python it
// took 0.1 of a processor.
func OnMasters(n int) Crew {
	if n > 0 {
		return Of(n)
	}
	c := Of(0)
	c.least++
	if busy := meter(); busy != nil {
		c.most, c.busy = 8*c.most, busy
	}
	return c
}

// A crew grows while the processors are used less than idle, and shrinks while they are used more than full. What a run
// measures should not depend on its neighbours, so a fair part stays free.
const (
	idle  = 0.6
	full  = 0.85
	every = 500 * time.Millisecond
)

// Each calls work for each task, in their order, and returns when all are done. The next task is asked for when a
// worker may soon be free.
func Each[T any](c Crew, tasks iter.Seq[T], work func(T)) {
	next := make(chan T)
	leave := make(chan struct{}, max(c.most, c.least))
	var workers sync.WaitGroup
	n := 0
	join := func() {
		n++
		workers.Go(func() {
			for t := range next {
				work(t)
				select {
				case <-leave:
					return
				default:
				}
			}
		})
	}
	var measure <-chan time.Time
	if c.busy != nil {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		measure = ticker.C
		c.busy()
	}
	for t := range tasks {
		if n < c.least {
			join()
		}
		for handed := false; !handed; {
			select {
			case next <- t:
				handed = true
			case <-measure: // all workers have a task
				switch used := c.busy(); {
				case used < idle && n < c.most:
					join()
				case used > full && n > c.least:
					n--
					leave <- struct{}{}
				}
			}
		}
	}
	close(next)
	workers.Wait()
}
