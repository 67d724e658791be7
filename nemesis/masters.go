package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
)

// newPause pauses the processes of masters.
func newPause(n *Nemesis, f *injection) effect { return &pause{n: n, f: f} }

type pause struct {
	n *Nemesis
	f *injection

	mu     sync.Mutex
	served map[string]string // by master, the evidence that it was not paused
}

// lookPaused is how long install waits for an answer, which proves that the master is not
// paused.
const lookPaused = 50 * time.Millisecond

func (p *pause) install(ctx context.Context) error {
	p.served = map[string]string{}
	return p.n.each(p.f.masters, func(m cluster.Master) error {
		err := m.Pause(ctx)
		p.n.recordState(m, nil)
		served := "could not be stopped"
		if err == nil {
			served = "still answered"
			looking, cancel := p.n.within(ctx, lookPaused)
			defer cancel()
			if _, unanswered := m.Inspect(looking, nil); unanswered != nil {
				return nil
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.served[m.Name()] = served
		return err
	})
}

func (p *pause) heal(ctx context.Context) (proof, string, error) {
	err := p.n.each(p.f.masters, func(m cluster.Master) error {
		defer p.n.recordState(m, nil)
		if m.State() != cluster.Paused { // another fault has killed the master meanwhile
			return nil
		}
		if err := m.Resume(ctx); !errors.Is(err, cluster.ErrDown) { // it may have been killed just now
			return err
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	var descriptions []string
	for _, m := range p.f.masterNames() {
		descriptions = append(descriptions, m+" "+cmp.Or(p.served[m], "stood still"))
	}
	if len(p.served) == len(p.f.masters) {
		return refuted, strings.Join(descriptions, "; "), err
	}
	if p.n.voteless() { // no votes will show that a server was silent: that it stood still is certain
		return proven, strings.Join(descriptions, "; "), err
	}
	return unproven, strings.Join(descriptions, "; "), err
}

// newKill ends masters with SIGKILL and starts them again.
func newKill(n *Nemesis, f *injection) effect {
	return &restart{n: n, f: f, stop: func(ctx context.Context, m cluster.Master) error { return m.Kill(ctx) }}
}

// newShutdown ends masters with SIGTERM and starts them again.
func newShutdown(n *Nemesis, f *injection) effect {
	return &restart{n: n, f: f, stop: func(ctx context.Context, m cluster.Master) error { return m.Shutdown(ctx) }}
}

type restart struct {
	n    *Nemesis
	f    *injection
	stop func(context.Context, cluster.Master) error

	mu           sync.Mutex
	before       map[string]cluster.Snapshot
	down         []string // the masters that were down already
	descriptions []string // a description for each master
	proof        proof
}

// lookRunning is the timeout for a master to list the keys that it stores.
const lookRunning = time.Second

func (r *restart) install(ctx context.Context) error {
	r.before = map[string]cluster.Snapshot{}
	err := r.n.each(r.f.masters, func(m cluster.Master) error {
		defer r.n.recordState(m, nil)
		down := m.State() == cluster.Down
		looking, cancel := r.n.within(ctx, lookPaused)
		defer cancel()
		look, looked := m.Inspect(looking, r.n.keys())
		r.mu.Lock()
		if looked == nil {
			r.before[m.Name()] = look
		}
		if down {
			r.down = append(r.down, m.Name())
		}
		r.mu.Unlock()
		return r.stop(ctx, m)
	})
	return err
}

func (r *restart) heal(ctx context.Context) (proof, string, error) {
	err := r.n.each(r.f.masters, func(m cluster.Master) error {
		if m.State() == cluster.Down {
			if err := m.Start(ctx); err != nil {
				r.n.recordState(m, nil)
				r.tell(true, m.Name()+" never came back")
				return err
			}
		}
		looking, cancel := r.n.within(ctx, lookRunning)
		defer cancel()
		after, err := m.Inspect(looking, r.n.keys())
		if err != nil {
			r.n.recordState(m, nil)
			return fmt.Errorf("started, but then gave no answer: %w", err)
		}
		r.n.recordState(m, &after)
		if slices.Contains(r.down, m.Name()) {
			r.tell(false, m.Name()+" was down already")
			return nil
		}
		before, known := r.before[m.Name()]
		what, restarted := compare(m.Name(), before, known, after)
		if restarted && r.n.voteless() { // what it stores is not known
			what = m.Name() + " restarted"
		}
		r.tell(restarted, what)
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.descriptions)
	return r.proof, strings.Join(r.descriptions, "; "), err
}

// tell records what happened to a master, and whether that shows that the fault took
// effect.
func (r *restart) tell(tookEffect bool, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tookEffect {
		r.proof = proven
	}
	r.descriptions = append(r.descriptions, what)
}

// compare describes the effect of a restart on the keys of a master. A key that is gone may
// also have expired meanwhile.
func compare(name string, before cluster.Snapshot, known bool, after cluster.Snapshot) (what string, restarted bool) {
	if !known {
		return name + " started anew", true
	}
	if before.RunID == after.RunID {
		return name + " was not restarted", false
	}
	var lost, kept []string
	for key, token := range before.Keys {
		if after.Keys[key] == token {
			kept = append(kept, key)
		} else {
			lost = append(lost, key)
		}
	}
	slices.Sort(lost)
	slices.Sort(kept)
	switch {
	case len(lost) > 0 && len(kept) > 0:
		return fmt.Sprintf("%s restarted, %s gone, %s kept", name, strings.Join(lost, " "), strings.Join(kept, " ")), true
	case len(lost) > 0:
		return fmt.Sprintf("%s restarted, %s gone", name, strings.Join(lost, " ")), true
	case len(kept) > 0:
		return fmt.Sprintf("%s restarted, %s kept", name, strings.Join(kept, " ")), true
	}
	return name + " restarted, stored no lock", true
}

func init() {
	implement("pause", implementation{new: newPause})
	implement("kill", implementation{new: newKill})
	implement("shutdown", implementation{new: newShutdown})
}
