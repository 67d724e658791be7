package campaigntest

import (
	"context"
	"fmt"

	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// RegisterSending registers a lock that is the library's own, but also sends a command to m1 before
// each acquisition.
func RegisterSending(name string, command ...any) error {
	redlock, ok := workload.LockNamed("redlock")
	if !ok {
		return fmt.Errorf("there is no lock redlock")
	}
	return workload.RegisterLock(workload.Implementation{Name: name, New: func(e workload.Env) (workload.Lock, error) {
		inner, err := redlock.New(e)
		return sending{inner, e, command}, err
	}})
}

type sending struct {
	workload.Lock
	env     workload.Env
	command []any
}

// Acquire sends the command, and acquires the lock.
func (l sending) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	cmd := protocol.Command{Purpose: protocol.Set, Key: key, Args: l.command}
	for range l.env.Masters.Begin(nil).Ask(ctx, cmd, []int{0}, l.env.Timeout) {
	}
	return l.Lock.Acquire(ctx, key)
}
