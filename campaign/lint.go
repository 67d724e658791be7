package campaign

import (
	"strings"
	"sync"
	"time"

	"lockpick/campaign/judge"
	"lockpick/cluster"
	"lockpick/cluster/resp"
	"lockpick/history"
	"lockpick/watch"
)

// Lint follows the commands of a run's clients, and finds the rules of package watch that they break. Its methods
// are safe for concurrent use, and do nothing if it is nil.
type Lint struct {
	mu    sync.Mutex
	lint  *watch.Lint
	conns map[connection]int64 // their numbers
}

// connection is a connection to a master (0 is m1) from an address.
type connection struct {
	master  int
	address string
}

// NewLint returns a Lint of the clients of some masters. quorum is that of the lock; 0: it is not known.
func NewLint(masters, quorum int, start time.Time) (*Lint, error) {
	l, err := watch.NewLint(watch.Options{Masters: masters, Quorum: quorum, Start: start, Plain: true})
	if err != nil {
		return nil, err
	}
	return &Lint{lint: l, conns: map[connection]int64{}}, nil
}

// Observe follows the connections over a link to a master (0 is m1) that nobody else observes.
func (l *Lint) Observe(master int, link cluster.Link) {
	if o, able := link.(cluster.Observable); able {
		o.Observe(cluster.Observer{Opened: func(string) {}, Exchange: func(x cluster.Exchange) { l.Exchange(master, x) }, Lost: func(error) {}})
	}
}

// Exchange takes an exchange of a client with a master (0 is m1).
func (l *Lint) Exchange(master int, x cluster.Exchange) {
	if l == nil || x.Queued {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := connection{master, x.Conn}
	if l.conns[at] == 0 {
		l.conns[at] = int64(len(l.conns) + 1)
	}
	l.lint.Exchange(master, l.conns[at], resp.Exchange{Args: x.Args, Reply: x.Reply, Sent: x.Sent, Answered: x.Answered})
}

// Hints returns the rules that the lock's commands broke. It leaves out those about how a lock is used and held: the harness
// uses it, makes clients work for longer than their leases, and delays releases, so that an attempt that failed looks like a
// hold. Who held the lock, and with how many votes, a run knows (L1, quorum).
func (l *Lint) Hints(now time.Time) (all []judge.Hint) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.lint.Result(now, watch.Missed{}).Findings {
		if !f.Use {
			all = append(all, judge.Hint{Rule: f.Rule, Count: f.Count, Evidence: strings.Join(f.Evidence, "; ")})
		}
	}
	return all
}

// ruleOp is the line of a history that records a hint.
func ruleOp(h judge.Hint) history.Op {
	return history.Op{Process: history.Harness, Type: history.Info, F: history.FRule,
		Value: &history.Value{Command: h.ID, Value: int64(h.Count), Evidence: resp.Printable(h.Evidence)}}
}
