package cluster

import "context"

// Peered is a cluster whose masters have connections with each other. The harness has a link in each of them.
type Peered interface {
	// Between returns the links of the masters of one side with all other masters, in both directions.
	Between(side []Master) []Link
	// Leader returns the master that leads the others. It fails if none says so before ctx ends.
	Leader(ctx context.Context) (Master, error)
	// Bypass returns an error if a program has a connection to a master that goes past the links: faults of links do
	// not touch that one.
	Bypass() error
}
