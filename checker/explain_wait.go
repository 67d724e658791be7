package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// stuck says how the masters answered the clients that were not granted a
// key, what they stored of it, and what had not healed.
func (r *run) stuck(key string, clients []string, from, to time.Duration) []reason {
	var steps []reason
	for _, client := range clients {
		last := map[string]history.Vote{}
		for _, v := range r.lookup().votes {
			if v.Key == key && v.Client == client && v.Command == history.CommandSet && v.At >= from && v.At <= to {
				last[v.Master] = v
			}
		}
		var yes, no, silent []string
		for m, v := range last {
			switch {
			case v.Yes:
				yes = append(yes, m)
			case v.Unknown:
				silent = append(silent, m)
			default:
				no = append(no, m)
			}
		}
		var parts []string
		for _, p := range []struct {
			masters []string
			did     string
		}{{yes, "voted yes"}, {no, "voted no"}, {silent, "did not answer"}} {
			if len(p.masters) > 0 {
				parts = append(parts, Enumerate(set(p.masters))+" "+p.did)
			}
		}
		if len(parts) > 0 {
			steps = append(steps, reason{at: to, text: fmt.Sprintf("In the last attempt of %s before %s, %s.", client, at(to), strings.Join(parts, ", "))})
		}
	}
	byToken := map[string][]string{}
	for m, token := range r.stored(key, to) {
		if token != "" {
			byToken[token] = append(byToken[token], m)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(byToken)) {
		steps = append(steps, reason{at: to, text: fmt.Sprintf("%s last stored %s for %s.", Enumerate(set(byToken[token])), r.owner(key, token), key)})
	}
	for _, l := range slices.Backward(r.leases) {
		if l.Key == key && l.Acquired() < to {
			end := fmt.Sprintf("and never released it; its lease was valid until %s", at(l.Until()))
			if l.ReleaseIndex >= 0 && r.h.Ops[l.ReleaseIndex].F == history.FCrash && l.Released <= to {
				end = fmt.Sprintf("and ended at %s without releasing it", at(l.Released))
			} else if l.ReleaseIndex >= 0 && l.Released <= to {
				end = fmt.Sprintf("and released it at %s", at(l.Released))
			}
			steps = append(steps, reason{at: l.Acquired(), text: fmt.Sprintf("At %s %s was the last to be granted %s %s.", at(l.Acquired()), l.Process, key, end)})
			break
		}
	}
	if h := r.healed(); len(h.gone) > 0 && h.at <= to {
		steps = append(steps, reason{at: h.at, text: fmt.Sprintf("At %s, when the faults had healed, %s had not come back.", at(h.at), Enumerate(set(h.gone)))})
	}
	for _, f := range r.faults {
		if f.Installed && !f.Healed && f.Problem != "" {
			steps = append(steps, reason{at: f.Began, faults: []int{f.ID}, text: fmt.Sprintf("At %s %s #%d struck %s and could not be healed: %s.",
				at(f.Began), f.Name, f.ID, Enumerate(set(append(slices.Clone(f.Masters), f.Clients...))), f.Problem)})
		}
	}
	if len(steps) == 0 {
		steps = append(steps, reason{at: to, text: "Nothing recorded explains it: no master's votes and no unhealed fault."})
	}
	return steps
}

// owner names the client whose lease carries a token.
func (r *run) owner(key, token string) string {
	for _, l := range r.leases {
		if l.Key == key && l.Token == token {
			return "the token of " + l.Process
		}
	}
	return "a token that was granted to no one"
}

// stored is what masters were last known to hold for a key, up to a time.
func (r *run) stored(key string, until time.Duration) map[string]string {
	held := map[string]string{}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.Time > until {
			break
		}
		if op.F != history.FState && op.F != history.FLook || op.Value == nil || op.Value.Keys == nil {
			continue
		}
		held[op.Process] = op.Value.Keys[key]
	}
	return held
}

// explainStuck explains that nobody was granted a key after the faults had healed.
func (r *run) explainStuck(v *Violation, h healing, attempts []attempt) {
	v.Summary = fmt.Sprintf("no one was granted %s within %s of the healing at %s", v.Key, at(h.bound), at(h.at))
	until := v.Until
	for _, a := range attempts {
		until = max(until, a.ended)
	}
	r.explain(v, r.stuck(v.Key, v.Clients, h.at, until))
}

// explainRefused explains that an acquire was not granted in time after the faults had healed.
func (r *run) explainRefused(v *Violation, a attempt) {
	switch {
	case a.ok:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was granted it only after %s", a.client, a.key, at(a.invoked), at(a.ended-a.invoked))
	case a.open:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and had no answer for %s, until the history ends", a.client, a.key, at(a.invoked), at(a.ended-a.invoked))
	default:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was refused after %s", a.client, a.key, at(a.invoked), at(a.ended-a.invoked))
		if a.err != "" {
			v.Summary += ": " + a.err
		}
	}
	r.explain(v, r.stuck(a.key, []string{a.client}, a.invoked, a.ended))
}

// explainWait explains that nobody was granted a key although someone could have been; more adds
// what the property says of it.
func (r *run) explainWait(v *Violation, d drought, during string, more func(drought) []reason) {
	v.Summary = fmt.Sprintf("no one was granted %s from %s to %s %s, though %s asked for it", v.Key, at(d.from), at(d.to), during, Enumerate(v.Clients))
	r.explain(v, append(r.stuck(v.Key, v.Clients, d.from, d.to), more(d)...))
}

// holderGone says how the last holder before a wait was lost.
func (r *run) holderGone(d drought) []reason {
	l := r.last(d.key, d.from)
	how, when := r.lostHolder(d)
	return []reason{{at: when, text: fmt.Sprintf("At %s %s, who held %s, %s.", at(when), l.Process, d.key, how)}}
}

// failing names the faults on masters during a wait.
func (r *run) failing(d drought) []reason {
	var steps []reason
	for _, f := range r.faults {
		if disrupts(f) && overlaps(f.Began, f.To, d.from, d.to) {
			text := fmt.Sprintf("From %s to %s %s #%d was on %s", at(f.Began), at(f.To), f.Name, f.ID, Enumerate(set(f.Masters)))
			if len(f.Clients) > 0 {
				text += " for " + Enumerate(set(f.Clients))
			}
			steps = append(steps, reason{at: f.Began, faults: []int{f.ID}, text: text + "."})
		}
	}
	return steps
}

// divided counts the attempts of a wait on which the masters were divided.
func (r *run) divided(d drought) []reason {
	tried, split := r.splits(d)
	if tried == 0 {
		return nil
	}
	return []reason{{at: d.from, text: fmt.Sprintf("From %s to %s there were %s, and in %d of them some masters said yes and some no.", at(d.from), at(d.to), count(tried, "attempt", "attempts"), split)}}
}
