package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
)

// injection is one fault, from its installation to its healing.
type injection struct {
	id      int
	step    plannedStep
	kind    fault.Kind
	masters []cluster.Master
	clients []string
	params  map[string]string
	draw    float64 // a random number from 0 up to 1, for the effect
	effect  effect
	leader  cluster.Master  // if its step names the leader
	run     context.Context // ends when the run must end; an effect must then stop waiting
}

// effect is the implementation of a kind of fault.
type effect interface {
	// install installs the fault. The error is the reason why that failed; it is a halfDone if the
	// installation changed something nevertheless.
	install(ctx context.Context) error
	// heal ends the fault, also one that could not be installed. It returns whether the fault changed
	// anything, and the evidence.
	heal(ctx context.Context) (p proof, evidence string, err error)
}

func (f *injection) String() string {
	return strings.TrimSpace(f.step.Fault + " " + strings.Join(append(f.masterNames(), f.clients...), " "))
}

func (f *injection) masterNames() []string {
	var names []string
	for _, m := range f.masters {
		names = append(names, m.Name())
	}
	return names
}

// inject carries out one step, from the choice of its targets to its healing. It returns when the
// fault has healed: at the end of its window, or soon after ctx has ended, but not before Env.RestartDelay. A step that was not due
// before ctx ended is recorded as skipped.
func (n *Nemesis) inject(ctx context.Context, s plannedStep, random *rand.Rand) {
	f, err := n.begin(ctx, s, random)
	n.record(f, history.Invoke, history.PhaseInstall, nil, nil)
	var x *clientEvidence
	if err == nil {
		defer n.end(f)
		x = n.watch.startObserving(f)
		// Complete an installation that has begun even if the run must end: half of a fault, such as
		// a kill without waiting for the end of the process, could not be healed.
		err = f.effect.install(context.WithoutCancel(ctx))
	}
	var half halfDone
	switch {
	case errors.As(err, &half):
		// Record the changes before the failure as a fault that ends at once: otherwise the history
		// would not explain why a master lost a key.
		n.record(f, history.OK, history.PhaseInstall, nil, nil)
		s.tell(f, err)
		n.heal(ctx, f, x, "given up, because "+half.Error())
	case err != nil:
		if f.effect != nil {
			_, _, undo := f.effect.heal(context.WithoutCancel(ctx))
			err = errors.Join(err, undo)
		}
		n.watch.stopObserving(x)
		n.record(f, history.Fail, history.PhaseInstall, nil, err)
		s.tell(f, err)
	default:
		n.record(f, history.OK, history.PhaseInstall, nil, nil)
		s.tell(f, nil)
		least := n.now() + min(s.For, n.env.RestartDelay)
		_ = n.env.Runtime.Sleep(ctx, s.For)
		if left := least - n.now(); left > 0 && fault.Of(s.Fault).EndsMaster() {
			_ = n.env.Runtime.Sleep(n.env.Running, left)
		}
		n.heal(ctx, f, x, "")
	}
}

func (s *plannedStep) tell(f *injection, err error) {
	if s.began != nil {
		s.began(f, err)
	}
}

// Installed is a fault that Install has installed.
type Installed struct {
	ID      int      // the number of the fault in the history
	Masters []string // names of the masters that it hits
	Clients []string
}

// Install installs a step at once, whatever its time and trigger. It returns when the fault is installed, or the reason
// why it is not. The fault heals after step.For or when heal is called, which returns once it has healed. Install must
// not be called while the nemesis draws steps.
func (n *Nemesis) Install(ctx context.Context, step Step) (at Installed, heal func(), err error) {
	n.mu.Lock()
	random := n.fork()
	n.mu.Unlock()
	lasting, end := n.env.Runtime.WithCancelCause(ctx)
	healed, over := n.env.Runtime.WithCancelCause(context.Background())
	wait := func() {
		for n.env.Runtime.Sleep(healed, time.Hour) == nil {
		}
	}
	installed, known := n.env.Runtime.WithCancelCause(context.Background())
	s := plannedStep{Step: step}
	s.began = func(f *injection, failed error) {
		at, err = Installed{f.id, f.masterNames(), f.clients}, failed
		known(nil)
	}
	n.spawn(func() {
		defer over(nil)
		n.inject(lasting, s, random)
	})
	for n.env.Runtime.Sleep(installed, time.Hour) == nil {
	}
	if err != nil {
		wait()
		end(nil)
	}
	return at, func() { end(errHealed); wait() }, err
}

var errHealed = errors.New("it was healed")

// heal ends a fault and records its changes. If since is not empty, the evidence ends with it.
func (n *Nemesis) heal(ctx context.Context, f *injection, x *clientEvidence, since string) {
	n.record(f, history.Invoke, history.PhaseHeal, nil, nil)
	p, evidence, err := f.effect.heal(context.WithoutCancel(ctx))
	if since != "" {
		evidence += "; " + since
	}
	err = errors.Join(err, n.drain(context.WithoutCancel(ctx), f.masters))
	v := &history.Value{}
	v.TookEffect, v.Evidence = n.judge(x, p, evidence)
	if err != nil {
		n.record(f, history.Info, history.PhaseHeal, v, err)
		return
	}
	n.record(f, history.OK, history.PhaseHeal, v, nil)
}

// halfDone is the error of an installation that failed after it had changed something.
type halfDone struct{ error }

func (h halfDone) Unwrap() error { return h.error }

var errTooLate = errors.New("the run had ended before its time or its trigger came")

// begin turns a step into an injection with an id and targets.
func (n *Nemesis) begin(ctx context.Context, s plannedStep, random *rand.Rand) (*injection, error) {
	leader, leaderless := n.findLeader(ctx, s)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	n.tried[s.Fault] = true
	kind := fault.Of(s.Fault)
	f := &injection{id: n.next, step: s, kind: kind, params: map[string]string{}, leader: leader, run: ctx}
	if s.After != "" {
		f.params["after"] = s.After
	}
	if kind.EndsMaster() {
		f.params["restart-delay"] = s.For.String()
	}
	if s.number != "" {
		f.params["step"] = s.number
	}
	if s.guided {
		f.params["aim"] = "guided"
	}
	if ctx.Err() != nil {
		return f, errTooLate
	}
	if leaderless != nil {
		return f, leaderless
	}
	if err := n.aim(f, random); err != nil {
		return f, err
	}
	f.draw = random.Float64()
	f.effect = implementations[kind.Name].new(n, f)
	n.active[f.id] = f
	return f, nil
}

// Lasts reports whether the fault with an ID is installed now.
func (n *Nemesis) Lasts(id int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.active[id] != nil
}

func (n *Nemesis) end(f *injection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.active, f.id)
}
