package cluster

import (
	"math"
	"time"
)

// Takeover describes the course of a failover. The zero value is the quickest one: the
// primary dies, and a replica serves in its place immediately.
type Takeover struct {
	// Outage is the time in which no server serves: until the primary's death is noticed, and
	// until a replica has been elected and promoted (see ElectionTime).
	Outage time.Duration
	// Apart are clients that a partition cuts off together with the primary. It lives on for
	// them alone, as a second primary (split brain), until the next Start makes it a replica.
	Apart []string
	// Ended is called once the primary serves no clients, or only those of Apart. It may be
	// nil.
	Ended func()
}

// Replication from a primary to its replicas is asynchronous. A change arrives after a lag,
// later than all changes before it, and not before it and they have been transferred: so the
// lag grows with the load.
//
// The lag is that of a replica in the same data centre: half of the lags are below 2 ms, and
// one in a hundred is above 10 ms. On one idle machine it is a tenth of that (see
// TestSentinelFailover).
const (
	leastLag   = 500 * time.Microsecond
	meanLag    = 2 * time.Millisecond   // mean of the part above leastLag, which is exponentially distributed
	mostLag    = 100 * time.Millisecond // upper limit for a primary without load
	ShipChange = 20 * time.Microsecond  // duration of the transfer of one change
)

// Lag returns the lag of one change. u is drawn uniformly from 0 up to 1.
func Lag(u float64) time.Duration {
	return min(leastLag+time.Duration(-math.Log(1-u)*float64(meanLag)), mostLag)
}

// ElectionTime returns the time that Redis Sentinel takes from noticing that a primary is
// down until a replica is the primary. u is drawn uniformly from 0 up to 1. Measured with
// three Sentinels on one machine, it took 0.62 to 0.80 s (see TestSentinelFailover).
func ElectionTime(u float64) time.Duration {
	return leastElection + time.Duration(u*float64(mostElection-leastElection))
}

const (
	leastElection = 500 * time.Millisecond
	mostElection  = time.Second
)
