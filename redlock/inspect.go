package redlock

import (
	"context"
	"errors"
	"fmt"

	"lockpick/redlock/protocol"
)

// Connect opens a connection to each master and returns the state of each. Call it when the
// program starts, to find a wrong password then, and to spare the first Lock the time for
// connecting.
//
// Connect fails if fewer than a quorum of masters answer before ctx ends and within 1 s per
// command. The error joins those of the masters that did not answer, and is not an *Error.
// On masters that are not protocol.Connector, Connect does nothing and returns nil, nil. The
// states are those of Health.
func (c *Client) Connect(ctx context.Context) ([]MasterHealth, error) {
	m, ok := c.masters.(protocol.Connector)
	if !ok {
		return nil, nil
	}
	m.Connect(ctx)
	health, up := c.Health(), 0
	if health == nil { // nobody knows
		return nil, nil
	}
	errs := []error{fmt.Errorf("redlock: connect: fewer than %d of %d masters answered", c.quorum, c.n)}
	for _, h := range health {
		if h.Err == nil {
			up++
		} else {
			errs = append(errs, h.Err)
		}
	}
	if up < c.quorum {
		return health, errors.Join(errs...)
	}
	return health, nil
}

// Health returns the state of each master, in the order of New, without sending a command.
// A master that was not used yet counts as healthy. For masters that are not protocol.Monitor,
// Health returns nil.
func (c *Client) Health() []MasterHealth {
	if m, ok := c.masters.(protocol.Monitor); ok {
		return m.Health()
	}
	return nil
}

// MasterKey describes the key of a lock on one master.
type MasterKey = protocol.MasterKey

// Inspect reads the key of a lock on every master. holder is the token that a quorum
// stores, or "" if there is none. Inspect is for people and tools: when it returns, the
// answer may be outdated. Its commands are not batched with those of the lock: their
// timeouts are those of the go-redis clients, and ctx.
//
// The error is an *Error that wraps ErrNoQuorum if fewer than a quorum of masters answered;
// the errors of the masters are in masters. Masters that are not protocol.Reader cannot be
// inspected, which is an error of another type.
func (c *Client) Inspect(ctx context.Context, key string) (holder string, masters []MasterKey, err error) {
	m, ok := c.masters.(protocol.Reader)
	if !ok {
		return "", nil, errors.New("redlock: these masters cannot be inspected")
	}
	masters = m.Read(ctx, c.settings.stored(key))
	votes, answered := map[string]int{}, 0
	for _, k := range masters {
		if k.Err == nil {
			answered++
		}
		if votes[k.Token]++; k.Token != "" && votes[k.Token] >= c.quorum {
			holder = k.Token
		}
	}
	if answered < c.quorum {
		err = &Error{Op: "inspect", Key: key, Err: ErrNoQuorum, Context: contextError(ctx)}
	}
	return holder, masters, err
}

// ForceUnlock deletes a lock on all masters, even if another client holds it. The holder is
// not notified, so that afterwards two clients may hold the lock. ForceUnlock is for
// operators who know that the holder is gone and cannot wait for the TTL.
//
// The error is an *Error that wraps ErrNoQuorum if fewer than a quorum of masters answered,
// ErrClosed, or only the error of ctx if ctx had ended before. An empty key is an error of
// another type.
func (c *Client) ForceUnlock(ctx context.Context, key string) error {
	s, err := c.begin(ctx, "force unlock", key, nil)
	if err != nil {
		return err
	}
	if !c.enter() {
		return &Error{Op: "force unlock", Key: key, Err: ErrClosed}
	}
	defer c.leave()
	del := protocol.Command{Purpose: Release, Key: s.stored(key), Token: newToken(s.runtime), Args: []any{"del", s.stored(key)}}
	votes := c.ask(ctx, c.masters.Begin(s.hooks.Vote), del, (*tally).answered, s)
	if !votes.answered() {
		return &Error{Op: "force unlock", Key: key, Err: ErrNoQuorum, Votes: votes.votes, Context: contextError(ctx)}
	}
	return nil
}
