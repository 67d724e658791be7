package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// newClientPause stops clients at a point.
func newClientPause(n *Nemesis, f *injection) effect {
	return newClientOrder(f, n.env.Pauses.Stop, "stopped")
}

// newClientKill ends clients at a point.
func newClientKill(n *Nemesis, f *injection) effect {
	return newClientOrder(f, n.env.Pauses.Kill, "ended")
}

// clientOrder is something that happens to clients when they come to a point.
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

func (o *clientOrder) heal(context.Context) (bool, string, error) {
	struck := o.undo()
	switch {
	case len(struck) == 0 && o.f.step.Point == "":
		return false, "no client could be " + o.what, nil
	case len(struck) == 0:
		return false, "no client came to " + o.f.step.Point, nil
	}
	return true, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.Join(struck, " "), o.what, o.f.step.Point)), nil
}

// newClientClock bends clients' clocks.
func newClientClock(n *Nemesis, f *injection) effect {
	f.params["rate"] = strconv.FormatFloat(f.step.Rate, 'g', -1, 64)
	return &clientClock{n: n, f: f}
}

type clientClock struct {
	n *Nemesis
	f *injection
}

func (c *clientClock) install(ctx context.Context) error {
	if len(c.f.clients) == 0 {
		c.f.clients = c.n.env.Clients
	}
	if err := c.set(c.f.step.Rate); err != nil {
		_, _, undo := c.heal(ctx)
		return errors.Join(err, undo)
	}
	return nil
}

func (c *clientClock) heal(context.Context) (bool, string, error) {
	return true, fmt.Sprintf("the clock of %s ran at %s", strings.Join(c.f.clients, " "), c.f.params["rate"]), c.set(1)
}

func (c *clientClock) set(rate float64) error {
	var errs []error
	for _, client := range c.f.clients {
		errs = append(errs, c.n.env.Pauses.SetRate(client, rate))
	}
	return errors.Join(errs...)
}
