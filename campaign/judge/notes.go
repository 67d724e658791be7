package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/history"
)

// ofClients returns notes on the leases and votes of clients that run a command of the user.
func ofClients(h *history.History) []string {
	var notes []string
	switch h.Header.Until {
	case history.UntilTTL:
		notes = append(notes, "where the clients do not say until when a lease is valid, it counts as valid for the TTL from when the command that was granted was sent")
	case history.UntilReleased:
		notes = append(notes, "the lock promises no time: its leases count as valid until they are released")
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == history.FUnguided {
			notes = append(notes, op.Error)
			break
		}
	}
	return notes
}

// deaths returns notes on clients whose processes ended by themselves.
func deaths(ops []history.Op) []string {
	times, last := map[string]int{}, map[string]string{}
	for i := range ops {
		if op := &ops[i]; op.F == history.FCrash && op.Error != "" {
			times[op.Process], last[op.Process] = times[op.Process]+1, op.Error
		}
	}
	var notes []string
	for _, client := range slices.Sorted(maps.Keys(times)) {
		notes = append(notes, fmt.Sprintf("client %s ended %d times without a fault of the nemesis, the last time since %s", client, times[client], last[client]))
	}
	return notes
}

// foreignDeaths returns notes on masters that died, or changed, although no fault did that, and on steps of the
// machine's clock.
func foreignDeaths(ops []history.Op) []string {
	var notes []string
	for i := range ops {
		op, what := &ops[i], ""
		switch op.F {
		case history.FStepped:
			what = "the machine's clock changed"
		case history.FDied:
			what = "master " + op.Process + " died or was changed"
		default:
			continue
		}
		notes = append(notes, fmt.Sprintf("%s at %.1fs: %s; what depends on it proves nothing about the lock", what, op.Time.Seconds(), op.Error))
	}
	return notes
}

// foreignChanges returns a note on commands of somebody else that changed keys.
func foreignChanges(ops []history.Op) []string {
	times, first := 0, (*history.Op)(nil)
	for i := range ops {
		if op := &ops[i]; op.Foreign() {
			if times++; times == 1 {
				first = op
			}
		}
	}
	if times == 0 {
		return nil
	}
	return []string{fmt.Sprintf("somebody who is not a client of this run changed keys %s on %s at %.1fs by %s: what depends on it proves nothing about the lock",
		often(times), first.Process, first.Time.Seconds(), cmp.Or(first.Value.Evidence, first.Value.Form))}
}

// often says how often something happened, before a text that says where or when it was first.
func often(n int) string {
	if n == 1 {
		return "once,"
	}
	return fmt.Sprintf("%d times, the first time", n)
}

// refusals returns a note on each command that masters refused because no lock sends it, and one on connections of other
// users of the machine that links refused.
func refusals(ops []history.Op) []string {
	type kind struct{ command, client string }
	times, first := map[kind]int{}, map[kind]*history.Op{}
	var order []kind
	for i := range ops {
		op := &ops[i]
		if op.F != history.FRefused || op.Value == nil {
			continue
		}
		k := kind{op.Value.Command, op.Value.Client}
		if k.command == "" {
			k.client = ""
		}
		if times[k]++; times[k] == 1 {
			first[k], order = op, append(order, k)
		}
	}
	var notes []string
	for _, k := range order {
		at := fmt.Sprintf("%s on %s at %.1fs", often(times[k]), first[k].Process, first[k].Time.Seconds())
		if k.command == "" {
			notes = append(notes, "another user of this machine connected to a client's link and was refused "+at)
			continue
		}
		if first[k].Value.Evidence == history.ByRules {
			notes = append(notes, fmt.Sprintf("masters refused %s on a link of %s %s: the rules of its user (--acl) do not allow it: %s", k.command, k.client, at, first[k].Error))
			continue
		}
		notes = append(notes, fmt.Sprintf("masters refused %s on a link of %s %s: no lock sends it (with --admin, or admin: true in a scenario, they execute it)", k.command, k.client, at))
	}
	return notes
}

// mostRefused returns a note on why most acquires were refused, in the words of a client that is a program.
func mostRefused(h *history.Packed) []string {
	if len(h.Header.Client) == 0 {
		return nil
	}
	granted, refused, times, most := 0, 0, map[string]int{}, ""
	for _, op := range h.All() {
		switch {
		case op.F != history.FAcquire:
		case op.Type == history.OK:
			granted++
		case op.Type == history.Fail && op.Error != "":
			refused++
			if times[op.Error]++; times[op.Error] > times[most] {
				most = op.Error
			}
		}
	}
	if refused <= granted {
		return nil
	}
	return []string{fmt.Sprintf("%d acquires were refused and %d granted; most often, %d times, the client said: %s", refused, granted, times[most], most)}
}

// failures returns a note on each kind of call of the lock that did not return or panicked.
func failures(ops []history.Op) []string {
	type kind struct{ f, command, error string }
	times, first := map[kind]int{}, map[kind]*history.Op{}
	var order []kind
	for i := range ops {
		op := &ops[i]
		if op.Value == nil || op.F != history.FHung && op.F != history.FPanicked {
			continue
		}
		k := kind{op.F, op.Value.Command, op.Error}
		if times[k]++; times[k] == 1 {
			first[k], order = op, append(order, k)
		}
	}
	var notes []string
	for _, k := range order {
		op := first[k]
		what := fmt.Sprintf("panicked in %s: %s", k.command, k.error)
		if k.f == history.FHung {
			what = fmt.Sprintf("did not return from %s within %v", k.command, op.Value.Took.Round(time.Millisecond))
		}
		notes = append(notes, fmt.Sprintf("the lock of client %s %s (first at %.1fs, %d times in all)", op.Process, what, op.Time.Seconds(), times[k]))
	}
	return notes
}

// stalls counts and sums the delays of the harness itself.
func stalls(ops []history.Op) (n int, total time.Duration) {
	for i := range ops {
		if ops[i].F == history.FStall && ops[i].Error == "" && ops[i].Value != nil {
			n, total = n+1, total+ops[i].Value.Took
		}
	}
	return n, total
}

// silences returns a note on masters that gave Lockpick no answer although no fault was in force.
func silences(ops []history.Op) []string {
	times, first := 0, (*history.Op)(nil)
	for i := range ops {
		if op := &ops[i]; op.F == history.FStall && op.Error != "" {
			if times++; times == 1 {
				first = op
			}
		}
	}
	if times == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s (%s at %.1fs): the machine or its disk was too slow, and commands may have timed out for that reason alone", first.Error, often(times), first.Time.Seconds())}
}
