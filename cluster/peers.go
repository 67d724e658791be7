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

// Elective is a master that may become the leader of the others by an election of their own.
type Elective interface {
	// Elected returns what the server has said since the last call that means that it leads the others from now on; "" if nothing.
	Elected() string
}

// Traced is a cluster whose servers send clients on to other servers, by addresses that are the same for all clients. A connection to
// such an address is forwarded by the link of the client that opened it. Its process is recognized by its environment.
type Traced interface {
	// Mark returns the entry (NAME=value) for the environment of a client's process. Processes that it starts inherit it.
	Mark(client string) string
}
