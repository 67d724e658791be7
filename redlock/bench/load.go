package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// outcome holds the measurements of one run.
type outcome struct {
	pairs      int
	took       time.Duration
	latencies  []time.Duration // of a sample of the pairs
	each       []int           // per goroutine
	mallocs    float64         // per pair
	bytes      float64
	goroutines int // the most at one time, without those of the load
	failed     int
	handOffs   int           // a goroutine got the lock that another one had before
	cpu        time.Duration // of this process, per pair
}

func (o outcome) handOffRate() float64 { return float64(o.handOffs) / o.took.Seconds() }

func (o outcome) rate() float64 { return float64(o.pairs) / o.took.Seconds() }

func (o outcome) quantile(q float64) time.Duration {
	if len(o.latencies) == 0 {
		return 0
	}
	slices.Sort(o.latencies)
	return o.latencies[min(len(o.latencies)-1, int(q*float64(len(o.latencies))))]
}

// load makes goroutines lock and unlock for the duration d, each with its own key, or all
// with one.
func load(l locker, goroutines int, d time.Duration, oneKey bool) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), d+30*time.Second)
	defer cancel()
	o := outcome{each: make([]int, goroutines)}
	samples := make([][]time.Duration, goroutines)
	fails := make([]int, goroutines)
	before := runtime.NumGoroutine()
	var memory, after runtime.MemStats
	runtime.ReadMemStats(&memory)
	spent := cpuTime()
	holder, handOffs := -1, 0 // guarded by the lock if all goroutines use one key
	begin := time.Now()
	stop := begin.Add(d)
	waiting, give := context.WithDeadline(ctx, stop)
	defer give()
	var wg sync.WaitGroup
	for g := range goroutines {
		key := "k"
		if !oneKey {
			key = fmt.Sprintf("k%d", g)
		}
		wg.Go(func() {
			for n := 0; ; n++ {
				began := time.Now()
				if !began.Before(stop) {
					return
				}
				use := ctx
				if oneKey { // otherwise a waiter would delay the end
					use = waiting
				}
				unlock, err := l.Lock(use, key)
				if err == nil {
					if oneKey && holder != g {
						holder = g
						handOffs++
					}
					err = unlock()
				} else if use.Err() != nil {
					return
				}
				if err != nil {
					fails[g]++
					continue
				}
				o.each[g]++
				if n%8 == 0 {
					samples[g] = append(samples[g], time.Since(began))
				}
			}
		})
	}
	tick := time.NewTicker(d / 10)
	for time.Now().Before(stop) {
		<-tick.C
		o.goroutines = max(o.goroutines, runtime.NumGoroutine()-before-goroutines)
	}
	tick.Stop()
	wg.Wait()
	o.took, o.handOffs = time.Since(begin), handOffs
	spent = cpuTime() - spent
	runtime.ReadMemStats(&after)
	for g := range goroutines {
		o.pairs += o.each[g]
		o.failed += fails[g]
		o.latencies = append(o.latencies, samples[g]...)
	}
	if o.pairs > 0 {
		o.cpu = spent / time.Duration(o.pairs)
		o.mallocs = float64(after.Mallocs-memory.Mallocs) / float64(o.pairs)
		o.bytes = float64(after.TotalAlloc-memory.TotalAlloc) / float64(o.pairs)
	}
	return o
}

func median[T int64 | float64 | time.Duration](x []T) T {
	if len(x) == 0 {
		return 0
	}
	x = slices.Clone(x)
	slices.Sort(x)
	return x[len(x)/2]
}
