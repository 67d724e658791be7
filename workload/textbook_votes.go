package workload

import (
	"context"
	"slices"
	"time"

	"lockpick/redlock/protocol"
)

// tally counts the votes of the masters.
type tally struct {
	yes, no, failed []int
	highest         int64 // the highest number in a yes reply
	err             error // the error of the first master that failed
}

func (t *tally) add(v protocol.Vote) {
	switch {
	case v.Yes:
		t.yes = append(t.yes, v.Master)
		t.highest = max(t.highest, v.Reply)
	case v.Err != nil:
		t.failed = append(t.failed, v.Master)
		if t.err == nil {
			t.err = v.Err
		}
	default:
		t.no = append(t.no, v.Master)
	}
}

// voted returns the number of masters that have voted.
func (t *tally) voted() int { return len(t.yes) + len(t.no) + len(t.failed) }

// enough reports whether a quorum voted yes, or can no longer do so.
func (l *textbook) enough(t *tally) bool {
	if l.mutations.reachable || l.mutations.waitsForAll || l.mutations.raises || l.mutations.onlyBelieved {
		return t.voted() == l.n
	}
	return len(t.yes) >= l.quorum(*t) || len(t.no)+len(t.failed) > l.n-l.quorum(*t)
}

// answered reports whether a quorum of masters has received a release. The other masters will
// receive it, too.
func (l *textbook) answered(t *tally) bool { return len(t.yes)+len(t.no) >= l.n/2+1 }

// settled reports whether a quorum has executed the command, or can no longer do so.
func (l *textbook) settled(t *tally) bool {
	return len(t.yes) >= l.n/2+1 || len(t.no) > l.n-(l.n/2+1) || t.voted() == l.n
}

// timeout returns how long to wait for one master: little compared to the TTL (distlock, step
// 2).
func (l *textbook) timeout() time.Duration {
	switch {
	case l.mutations.waitsForAll:
		return 5 * l.env.TTL // the default of the driver, which is not meant for locks
	case l.env.Timeout > 0:
		return l.env.Timeout
	}
	return min(l.env.TTL/20, 50*time.Millisecond)
}

// carryOut sends the commands of a step, one after the other, each to the masters in to at once
// (nil: to all). After a gate, only the masters that replied yes get the next command; the
// votes of the others are final. The error is ErrGone if the client ended between two commands.
func (l *textbook) carryOut(ctx context.Context, talk protocol.Conversation, key, token string, cmds []command, to []int, enough func(*tally) bool) (t tally, err error) {
	if to != nil && len(to) == 0 {
		return t, nil
	}
	var out tally // votes of the masters that a gate has stopped
	for i, c := range cmds {
		if i > 0 && !l.pass(BetweenCommands, key) {
			return out, ErrGone
		}
		stop := enough
		if c.gate {
			stop = func(*tally) bool { return false }
		}
		t = l.ask(ctx, talk, l.command(c, key, token), to, stop)
		if l.mutations.driverRetries && c.purpose == protocol.Set {
			t = l.again(ctx, talk, l.command(c, key, token), t)
		}
		t.no, t.failed = append(out.no, t.no...), append(out.failed, t.failed...)
		if c.gate {
			if to = slices.Clone(t.yes); len(to) == 0 {
				return t, nil
			}
			out = t
		}
	}
	return t, nil
}

// command adds the key, the token and the replicas to a command.
func (l *textbook) command(c command, key, token string) protocol.Command {
	cmd := protocol.Command{Purpose: c.purpose, Key: key, Token: token, Script: c.script, Keys: c.keys, Args: c.args, TTL: c.ttl.Milliseconds(), Once: c.once}
	if c.purpose == protocol.Set || c.purpose == protocol.Extend {
		cmd.Wait = l.env.Wait
	}
	return cmd
}

// ask counts the votes on a command until there are enough, all have arrived, or ctx ends.
func (l *textbook) ask(ctx context.Context, talk protocol.Conversation, cmd protocol.Command, to []int, enough func(*tally) bool) (t tally) {
	if l.mutations.drops {
		if to = l.withoutDropped(to); len(to) == 0 {
			return t
		}
		defer func() { l.drop(t.failed) }()
	}
	for v := range talk.Ask(ctx, cmd, to, l.timeout()) {
		t.add(v)
		if enough(&t) {
			break
		}
	}
	return t
}

// drop notes masters that failed.
func (l *textbook) drop(masters []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped = append(l.dropped, masters...)
}

// withoutDropped returns the masters in to (nil: all) that never failed.
func (l *textbook) withoutDropped(to []int) (left []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for m := range l.n {
		if (to == nil || slices.Contains(to, m)) && !slices.Contains(l.dropped, m) {
			left = append(left, m)
		}
	}
	return left
}

// again acts as a driver that resends a command without a reply, unnoticed by its user.
func (l *textbook) again(ctx context.Context, talk protocol.Conversation, cmd protocol.Command, t tally) tally {
	if len(t.failed) == 0 {
		return t
	}
	second := l.ask(ctx, talk, cmd, t.failed, func(*tally) bool { return false })
	t.yes, t.no, t.failed = append(t.yes, second.yes...), append(t.no, second.no...), second.failed
	return t
}

// releaseAll performs step 5. believed are the masters that voted yes on the SET.
func (l *textbook) releaseAll(ctx context.Context, talk protocol.Conversation, key, token string, share Share, believed []int, enough func(*tally) bool) (tally, error) {
	if l.mutations.onlyWhileWanted && ctx.Err() != nil {
		return tally{}, nil
	}
	var to []int
	if l.mutations.onlyBelieved {
		to = append([]int{}, believed...)
	}
	if l.mutations.overtaking {
		talk = l.masters.Begin(l.env.Hooks.Vote)
	}
	return l.carryOut(ctx, talk, key, token, l.releaseCommands(key, token, share), to, enough)
}

func (l *textbook) setCommands(key, token, waiter string, share Share) []command {
	switch {
	case l.mutations.shared != nil:
		return l.ofShare(protocol.Set, l.mutations.shared.set, key, token, share)
	case l.mutations.fair && waiter != "":
		return enqueue(key, token, waiter, l.env.TTL)
	case l.mutations.set != nil:
		return l.mutations.set(key, l.stored(token), l.env.TTL)
	case l.env.Fencing:
		return setAndCount(key, token, l.env.TTL)
	}
	return setNXPX(key, token, l.env.TTL)
}

func (l *textbook) releaseCommands(key, token string, share Share) []command {
	if l.mutations.shared != nil {
		return l.ofShare(protocol.Release, l.mutations.shared.release, key, token, share)
	}
	if l.mutations.release != nil {
		return l.mutations.release(key, l.stored(token), l.env.TTL)
	}
	return compareAndDelete(key, token, l.env.TTL)
}

func (l *textbook) extendCommands(key, token string, share Share) []command {
	if l.mutations.shared != nil {
		return l.ofShare(protocol.Extend, l.mutations.shared.extend, key, token, share)
	}
	if l.mutations.extend != nil {
		return l.mutations.extend(key, l.stored(token), l.env.TTL)
	}
	return compareAndExpire(key, token, l.env.TTL)
}

// stored returns the value that masters store for a token. If that is only a part of the token,
// votes still contain the whole token.
func (l *textbook) stored(token string) string {
	if l.mutations.stored != nil {
		return l.mutations.stored(l)
	}
	return token
}

// pass is called where a client may be stopped or ended. It returns false if the client has
// ended.
func (l *textbook) pass(point, key string) bool {
	return l.env.Pass == nil || l.env.Pass(point, key)
}
