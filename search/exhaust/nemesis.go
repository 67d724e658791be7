package exhaust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
)

// runNemesis runs the nemesis: at each tick it may choose faults, which strike right after the events of that
// tick.
func (x *execution) runNemesis() {
	rt := x.world.Runtime()
	for tick := 0; tick <= x.b.Horizon && x.faults < x.b.MaxFaults; tick++ {
		for from := 0; ; {
			var free []int
			for i := from; i < len(x.strikes); i++ {
				if !x.busy[x.strikes[i].String()] {
					free = append(free, i)
				}
			}
			x.from = byte(from)
			choice := x.choose(1+len(free), askStrike, true)
			if choice == 0 {
				break
			}
			if x.stopped {
				return
			}
			i := free[choice-1]
			s := x.strikes[i]
			x.busy[s.String()] = true
			x.struck = append(x.struck, uint8(i), uint8(tick), uint8(tick>>8))
			rt.Go(func() { x.inject(s) })
			from = i + 1 // the order of two faults at one tick does not matter
		}
		_ = rt.Sleep(context.Background(), x.b.Tick)
	}
}

// afterTick is the time from a tick to the faults chosen at it: after all events of the tick, and long before
// the next one.
const afterTick = 100 * time.Microsecond

// inject carries out a fault from its beginning to its end.
func (x *execution) inject(s strike) {
	ctx, rt := context.Background(), x.world.Runtime()
	wait := func(d time.Duration) { _ = rt.Sleep(ctx, d) }
	wait(afterTick)
	var err error
	x.injected++
	op := history.Value{ID: x.injected, Params: map[string]string{}}
	if s.master > 0 {
		op.Masters = []string{fmt.Sprintf("m%d", s.master)}
	}
	if s.client > 0 {
		op.Clients = []string{fmt.Sprintf("c%d", s.client)}
	}
	var m cluster.Master
	if s.master > 0 {
		m = x.masters.Masters()[s.master-1]
	}
	lasting, restart := time.Duration(x.b.For)*x.b.Tick, time.Duration(x.b.Restart)*x.b.Tick
	toTheEnd := false
	installed := func() { x.recordFault(s.fault, history.PhaseInstall, op) }
	switch kind := fault.Of(s.fault); {
	case kind.EndsMaster():
		switch kind.Process {
		case fault.Ends:
			err = m.Kill(ctx)
		case fault.ShutsDown:
			err = m.Shutdown(ctx)
		default:
			_, err = m.CutPower(ctx, cluster.Power{})
		}
		installed()
		x.recordState(m)
		wait(restart)
		err = errors.Join(err, m.Start(ctx))
		x.recordState(m)
	case kind.Process == fault.Stops:
		err = ignoreDown(m.Pause(ctx))
		installed()
		wait(lasting)
		err = errors.Join(err, ignoreDown(m.Resume(ctx)))
	case kind.Clock == fault.MasterClock:
		op.Params["clock"] = x.b.Clock
		err = m.SetClock(ctx, x.b.clock())
		installed()
		toTheEnd = true
	case kind.Link == fault.CutLink:
		op.Params["mode"], op.Params["direction"] = string(cluster.Drop), "both"
		link, problem := x.masters.Link(op.Clients[0], s.master-1)
		if err = problem; err == nil {
			link.Set(cluster.LinkFault{Requests: cluster.Drop, Replies: cluster.Drop})
			installed()
			wait(lasting)
			link.Set(cluster.LinkFault{})
		}
	case kind.Client == fault.ClientStops:
		c := x.world.ClientRuntime(op.Clients[0])
		c.Pause()
		installed()
		x.record(history.Op{Process: op.Clients[0], Type: history.Invoke, F: history.FPaused, Key: theKey, Value: &history.Value{}})
		wait(lasting)
		x.record(history.Op{Process: op.Clients[0], Type: history.OK, F: history.FPaused, Key: theKey, Value: &history.Value{}})
		c.Resume()
	}
	if err != nil {
		x.world.Stop(fmt.Errorf("%v at %v: %w", s, x.now(), err))
	}
	if toTheEnd {
		return
	}
	x.recordFault(s.fault, history.PhaseHeal, op)
	delete(x.busy, s.String())
	if i := x.entry(s); i >= 0 { // all its further effects are part of State
		x.struck = slices.Delete(x.struck, i, i+3)
	}
}

// ignoreDown drops the error of pausing or resuming a master that another fault has ended.
func ignoreDown(err error) error {
	if errors.Is(err, cluster.ErrDown) {
		return nil
	}
	return err
}

// entry returns the index of a strike in struck, or -1.
func (x *execution) entry(s strike) int {
	for i := 0; i < len(x.struck); i += 3 {
		if x.strikes[x.struck[i]] == s {
			return i
		}
	}
	return -1
}

func (x *execution) recordFault(name, phase string, v history.Value) {
	for _, t := range []history.Type{history.Invoke, history.OK} {
		v := v
		v.Phase, v.TookEffect = phase, phase == history.PhaseHeal
		x.record(history.Op{Process: history.Nemesis, Type: t, F: name, Value: &v})
	}
}

// recordState records the state of a master's process and, if it is up, what it stores.
func (x *execution) recordState(m cluster.Master) {
	v := &history.Value{State: string(m.State())}
	if m.State() == cluster.Up {
		v.Keys = x.masters.Stored(m.Name(), theKey)
	}
	x.record(history.Op{Process: m.Name(), Type: history.Info, F: history.FState, Value: v})
}
