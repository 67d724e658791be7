package remote

import (
	"errors"
	"fmt"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/workload"
)

// checkClock skews a client's clocks: by a request if the client has CanClock, and otherwise as a
// run does it with a program that does not support that.
func (k *kit) checkClock() error {
	if !k.hello.Has(workload.CanClock) {
		return k.checkProgramClocks()
	}
	t, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	m, err := t.ask(Request{Op: opClock, Rate: 2}, answerWithin)
	if err != nil {
		return err
	}
	if m.Type != msgClock || m.Value.Rate != 2 {
		return t.wrong("type, value.rate", fmt.Sprintf("%s, %v", m.Type, m.Value.Rate), `"clock", 2`)
	}
	return nil
}

// checkProgramClocks makes a client work while its clocks jump and run at other rates: the client
// must acquire and release, and must end its waits by these clocks.
func (k *kit) checkProgramClocks() (err error) {
	if k.Clocks == nil {
		return skipped{fmt.Sprintf("the client does not list %q in \"can\"", workload.CanClock)}
	}
	clocks, err := k.Clocks()
	if err != nil {
		return skipped{fmt.Sprintf("client-clock will take no effect, as nothing can skew its clocks here: %v", err)}
	}
	defer func() { err = errors.Join(err, clocks.Close()) }()
	k.env = clocks.Env()
	defer func() { k.env = nil }()
	holder, _, err := k.begin("c1")
	if err != nil {
		return err
	}
	if why := clocks.Skew(holder.p.cmd.Process.Pid); why != nil {
		return skipped{fmt.Sprintf("client-clock will take no effect, as its clocks cannot be skewed: %v", why)}
	}
	other, _, err := k.begin("c2")
	if err != nil {
		return err
	}
	// Begin with slow clocks: the waits of a client take longest by them.
	for _, to := range []cluster.Clock{{Rate: 0.5}, {Rate: 4}, {Rate: 1, Offset: -time.Hour}, {Rate: 1, Offset: time.Hour}, {Rate: 1}} {
		if err := clocks.Set(to); err != nil {
			return err
		}
		if err := k.tryClock(holder, other); err != nil {
			return fmt.Errorf("with its clocks at the rate %v and its wall clock off by %v: %w", to.Rate, to.Offset, err)
		}
	}
	return nil
}

// tryClock makes a client acquire a key, another one give up, and the first release it.
func (k *kit) tryClock(holder, other *talk) error {
	key := k.key()
	m, err := holder.acquire(key, 2*time.Second, history.OK)
	if err != nil {
		return err
	}
	if _, err := other.acquire(key, 100*time.Millisecond, history.OK, history.Fail, history.Info); err != nil {
		return err
	}
	return holder.release(key, m, history.OK, history.Fail, history.Info) // the lease may be over
}
