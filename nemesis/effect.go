package nemesis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

// A fault took effect if masters or clients noticed it. This file decides that by these rules:
//
//   - The effect of some kinds is visible without clients: a server that restarted, a clock
//     that TIME shows, a process that stood still. Such an effect reports proven.
//   - Pauses and faults of links are visible only to clients that sent commands. Such a fault
//     took effect if, since it was installed, a lock command that it hit got no reply, or a
//     reply that was later than normal (see normal).

// proof is the result of healing a fault: whether the fault took effect, as far as that is
// visible without the clients.
type proof int

const (
	refuted  proof = iota // it changed nothing
	proven                // it certainly changed something
	unproven              // only clients can show the effect: see tookEffect
)

// clientEvidence counts the effects of one fault that clients noticed.
type clientEvidence struct {
	masters []string
	clients []string // nil: all clients

	unanswered int           // number of lock commands without a reply
	errors     int           // number of lock commands that a master answered with an error
	late       int           // number of late replies
	slowest    time.Duration // the time of the slowest late reply
	usual      time.Duration // the usual time of that reply
}

// tookEffect reports whether clients noticed the fault.
func (f *clientEvidence) tookEffect() bool { return f.unanswered+f.errors+f.late > 0 }

func (f *clientEvidence) String() string {
	var parts []string
	if f.unanswered > 0 {
		parts = append(parts, plural.Count(f.unanswered, "lock command got no reply", "lock commands got no reply"))
	}
	if f.errors > 0 {
		parts = append(parts, plural.Count(f.errors, "lock command was answered with an error", "lock commands were answered with an error"))
	}
	if f.late > 0 {
		text := plural.Count(f.late, "reply took ", "replies took up to ") + rounded(f.slowest).String()
		if f.usual > 0 {
			text += fmt.Sprintf(" (usually %v)", rounded(f.usual))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "no lock command was left without a reply or answered late"
	}
	return strings.Join(parts, ", ")
}

// rounded rounds a duration to about three digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

// settleWithin is how long to wait, after the end of a fault, for the replies that it delayed.
const settleWithin = 50 * time.Millisecond

// judge decides whether a fault that has just healed took effect.
func (n *Nemesis) judge(x *clientEvidence, p proof, evidence string) (tookEffect bool, all string) {
	defer n.watch.stopObserving(x)
	if p == unproven {
		n.watch.settle(x, settleWithin)
	}
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	if p == unproven || p == proven && x.tookEffect() {
		evidence += "; " + x.String()
	}
	return p == proven || p == unproven && x.tookEffect(), evidence
}

// startObserving begins to record the effects of a fault that only clients can notice. For a
// fault on links, only the clients of those links count.
func (w *watch) startObserving(f *injection) *clientEvidence {
	x := &clientEvidence{masters: f.masterNames()}
	if !f.kind.OnlyClientsShow() {
		return x
	}
	if f.kind.Hits == fault.Links {
		x.clients = f.clients
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shownByClients = append(w.shownByClients, x)
	return x
}

// stopObserving ends the recording for a fault.
func (w *watch) stopObserving(x *clientEvidence) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shownByClients = slices.DeleteFunc(w.shownByClients, func(y *clientEvidence) bool { return y == x })
}

// hasVotes reports whether there were any votes.
func (w *watch) hasVotes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard
}

// settle waits until a client has noticed the fault, but not longer than d.
func (w *watch) settle(x *clientEvidence, d time.Duration) {
	w.mu.Lock()
	known := x.tookEffect()
	w.mu.Unlock()
	if !known {
		_, _ = w.await(context.Background(), d, func(history.Op) bool { return x.tookEffect() })
	}
}

// hear records the effect of the installed faults that a vote shows; without a fault, it
// records the time of the vote as usual. The caller holds w.mu.
func (w *watch) hear(op history.Op) {
	w.heard = true
	v := op.Value
	way := [2]string{v.Client, op.Process}
	answered := op.Error == ""
	if answered && w.calm(op) {
		w.replies.learn(way, v.Took)
		return
	}
	var usual, bound time.Duration
	for _, x := range w.shownByClients {
		if !slices.Contains(x.masters, op.Process) || x.clients != nil && !slices.Contains(x.clients, v.Client) {
			continue
		}
		if !answered {
			if op.Type == history.OK { // with the error that the master replied
				x.errors++
			} else {
				x.unanswered++
			}
			continue
		}
		if bound == 0 {
			usual, bound = w.replies.normal(way)
		}
		if v.Took > bound {
			x.late++
			if v.Took > x.slowest {
				x.slowest, x.usual = v.Took, usual
			}
		}
	}
}

// calm reports whether no fault hit the master or the client of a vote from the time at which
// the command was sent until the reply.
func (w *watch) calm(op history.Op) bool {
	sent := op.Time - op.Value.Delay - op.Value.Took
	for _, name := range []string{op.Process, op.Value.Client} {
		if d := w.disturbed[name]; d.faults > 0 || d.until > 0 && sent <= d.until {
			return false
		}
	}
	return true
}

// disturbance counts the faults that hit a master or a client now, and keeps the time at which
// the last one healed.
type disturbance struct {
	faults int
	until  time.Duration
}

// disturb records the beginning and the end of faults. It ignores a fault that lasts for the
// whole run, such as a slow disk: its effect counts as usual. The caller holds w.mu.
func (w *watch) disturb(op history.Op) {
	v := op.Value
	if kind, ok := fault.Named(op.F); !ok || kind.Lasts() || v.ID == 0 {
		return
	}
	begins := v.Phase == history.PhaseInstall && op.Type == history.Invoke
	ends := v.Phase == history.PhaseInstall && op.Type == history.Fail ||
		v.Phase == history.PhaseHeal && (op.Type == history.OK || op.Type == history.Info)
	if !begins && !ends {
		return
	}
	for _, name := range slices.Concat(v.Masters, v.Clients) {
		d := w.disturbed[name]
		if begins {
			d.faults++
		} else {
			d.faults--
			d.until = op.Time
		}
		w.disturbed[name] = d
	}
}

// replies holds the times that replies took while there were no faults.
type replies struct {
	ttl  time.Duration
	took map[[2]string]*recent // by client and master
}

// recent holds the latest times of one link.
type recent struct {
	times [32]time.Duration
	n     int // number of times so far
}

func (r *replies) learn(way [2]string, took time.Duration) {
	x := r.took[way]
	if x == nil {
		x = &recent{}
		r.took[way] = x
	}
	x.times[x.n%len(x.times)] = took
	x.n++
}

// enough is the number of replies that show the usual time.
const enough = 8

// A reply is late if it takes lateFactor times as long as usual, and at least lateBy longer, or
// a 50th of the TTL if that is less.
const (
	lateFactor = 3
	lateBy     = 5 * time.Millisecond
)

// normal returns the usual time of a reply from a master to a client, and the longest time that
// counts as normal. For a link with too few replies it uses the times of the link with the
// most.
func (r *replies) normal(way [2]string) (usual, bound time.Duration) {
	x := r.took[way]
	if x == nil || x.n < enough {
		x = r.others()
	}
	if x != nil {
		usual = x.median()
	}
	return usual, max(lateFactor*usual, usual+min(lateBy, r.ttl/50))
}

// others returns the link with the most replies, or nil.
func (r *replies) others() *recent {
	var best *recent
	for _, way := range slices.SortedFunc(maps.Keys(r.took), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if x := r.took[way]; best == nil || x.n > best.n {
			best = x
		}
	}
	return best
}

func (x *recent) median() time.Duration {
	times := slices.Sorted(slices.Values(x.times[:min(x.n, len(x.times))]))
	return times[len(times)/2]
}
