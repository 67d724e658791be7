package nemesis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockpick/cluster"
)

// newClientPause pauses clients at a point.
func newClientPause(n *Nemesis, f *injection) effect {
	return newClientOrder(f, n.env.Pauses.Stop, "stopped")
}

// newClientKill ends clients at a point.
func newClientKill(n *Nemesis, f *injection) effect {
	return newClientOrder(f, n.env.Pauses.Kill, "ended")
}

// clientOrder makes clients stop or end at a point.
type clientOrder struct {
	f     *injection
	order func(clients []string, point string) func() []string
	what  string
	undo  func() []string
}

func newClientOrder(f *injection, order func([]string, string) func() []string, what string) effect {
	if f.step.Point != "" {
		f.params["point"] = f.step.Point
	}
	return &clientOrder{f: f, order: order, what: what}
}

func (o *clientOrder) install(context.Context) error {
	o.undo = o.order(o.f.clients, o.f.step.Point)
	return nil
}

func (o *clientOrder) heal(context.Context) (proof, string, error) {
	affected := o.undo()
	switch {
	case len(affected) == 0 && o.f.step.Point == "":
		return refuted, "no client could be " + o.what, nil
	case len(affected) == 0:
		return refuted, "no client came to " + o.f.step.Point, nil
	}
	return proven, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.Join(affected, " "), o.what, o.f.step.Point)), nil
}

// newClientClock sets clients' clocks wrong. A jump changes only the wall clock; a rate changes
// both clocks, because a monotonic clock drifts but never steps.
func newClientClock(n *Nemesis, f *injection) effect {
	text := f.step.Clock
	if text == "" {
		text = "x" + strconv.FormatFloat(f.step.Rate, 'g', -1, 64)
	}
	c, strobe := f.parseClock(text)
	return &clientClock{n: n, f: f, clock: c, strobe: strobe}
}

type clientClock struct {
	n      *Nemesis
	f      *injection
	clock  cluster.Clock
	strobe bool
	stop   context.CancelCauseFunc

	setting sync.Mutex

	mu   sync.Mutex
	went []string // clients that have certainly used the wrong clock
}

func (c *clientClock) install(ctx context.Context) error {
	if err := c.set(c.clock); err != nil {
		return err
	}
	if c.strobe {
		var strobing context.Context
		strobing, c.stop = c.n.env.Runtime.WithCancelCause(ctx)
		c.n.spawn(func() {
			c.n.strobe(strobing, c.clock, func(to cluster.Clock) {
				c.setting.Lock()
				defer c.setting.Unlock()
				if strobing.Err() == nil { // otherwise the fault is being healed, and must not be set again
					_ = c.set(to)
				}
			})
		})
	}
	return nil
}

func (c *clientClock) heal(context.Context) (proof, string, error) {
	if c.stop != nil {
		c.stop(errStruck)
	}
	c.setting.Lock()
	err := c.set(cluster.Clock{})
	c.setting.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.went) == 0 {
		return refuted, "no client is known to have gone by the clock", err
	}
	slices.Sort(c.went)
	return proven, fmt.Sprintf("the clock of %s was off by %s", strings.Join(c.went, " "), c.f.params["clock"]), err
}

// set gives the clients a clock setting, after recording which of them used the wrong clock.
func (c *clientClock) set(to cluster.Clock) error {
	var errs []error
	for _, client := range c.f.clients {
		c.note(client)
		err := c.n.env.Pauses.SetClock(client, to)
		if err != nil && slices.ContainsFunc(errs, func(e error) bool { return e != nil && e.Error() == err.Error() }) {
			continue // the same problem of several clients is reported once
		}
		errs = append(errs, err)
	}
	return joined(errs)
}

// note records whether a client uses the wrong clock now.
func (c *clientClock) note(client string) {
	now := c.n.env.Pauses.Clock(client)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Offset == c.clock.Offset && cmp.Or(now.Rate, 1) == cmp.Or(c.clock.Rate, 1) && !slices.Contains(c.went, client) {
		c.went = append(c.went, client)
	}
}

func init() {
	implement("client-pause", implementation{new: newClientPause})
	implement("client-kill", implementation{new: newClientKill, shape: func(n *Nemesis, plan Plan, s *Step) {
		s.Point = pick(n.random, plan.Points[1:]) // the first point is within the lock, before the client has a lease
	}})
	implement("client-clock", implementation{new: newClientClock, shape: func(n *Nemesis, plan Plan, s *Step) {
		if s.Clock = plan.ClientClock; s.Clock == "" {
			d := n.jitter(2 * n.env.TTL).String()
			s.Clock = pick(n.random, []string{"x0.5", "x0.9", "x1.1", "x2", "+" + d, "-" + d})
		}
		s.Clients = []string{Any}
	}})
}
