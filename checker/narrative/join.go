package narrative

import (
	"fmt"
	"strings"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// join merges consecutive answers to one request into one event, likewise masters that were up
// again at one time, and masters that lost a key at one time for the same reason.
func (n *Narrative) join() {
	var joined []placed
	for _, e := range n.events {
		if i := len(joined); i > 0 && e.Kind == EventAnswered && joined[i-1].answeredWith(&e) {
			last := &joined[i-1]
			last.At = e.At
			last.Yes, last.No, last.Silent = facts.Distinct(append(last.Yes, e.Yes...)), facts.Distinct(append(last.No, e.No...)), facts.Distinct(append(last.Silent, e.Silent...))
			last.Ops = append(last.Ops, e.Ops...)
			last.Detail = last.Detail && e.Detail
			continue
		}
		if i := len(joined); i > 0 && e.Kind == EventUp && joined[i-1].Kind == EventUp && e.At-joined[i-1].At <= facts.Moment && e.Detail == joined[i-1].Detail && e.Token == joined[i-1].Token {
			if last := &joined[i-1]; last.says == e.says {
				last.Masters = facts.Distinct(append(last.Masters, e.Masters...))
				last.Ops = append(last.Ops, e.Ops...)
				last.Text = fault.Enumerate(last.Masters) + " were " + last.says
				continue
			}
		}
		if i := len(joined); i > 0 && e.Kind == EventLost && joined[i-1].Kind == EventLost && e.At-joined[i-1].At <= facts.Moment && e.Cause == joined[i-1].Cause && e.Token == joined[i-1].Token {
			if last := &joined[i-1]; e.says != "" && last.says == e.says {
				last.At = e.At
				last.Masters = facts.Distinct(append(last.Masters, e.Masters...))
				last.Ops = append(last.Ops, e.Ops...)
				last.Detail = last.Detail && e.Detail
				last.Text = fault.Enumerate(last.Masters) + " " + last.says
				continue
			}
		}
		joined = append(joined, e)
	}
	for i := range joined {
		if e := &joined[i]; e.Kind == EventAnswered {
			e.Text = n.answers(e)
		}
	}
	n.events = joined
}

// answeredWith reports whether the next answer belongs to the same request and moment. Silence is
// not merged with answers, since it is known only when the client gives up.
func (e *placed) answeredWith(next *placed) bool {
	return e.Kind == EventAnswered && e.ask == next.ask && next.At-e.At <= facts.Moment && (len(e.Silent) > 0) == (len(next.Silent) > 0)
}

// answers describes the masters' answers.
func (n *Narrative) answers(e *placed) string {
	var parts []string
	say := func(masters []string, text string) {
		if len(masters) > 0 {
			parts = append(parts, fault.Enumerate(facts.Distinct(masters))+" "+text)
		}
	}
	byReason := map[string][]string{}
	var reasons []string
	group := func(masters []string, why func(string) string) {
		clear(byReason)
		reasons = reasons[:0]
		for _, m := range facts.Distinct(masters) {
			w := why(m)
			if byReason[w] == nil {
				reasons = append(reasons, w)
			}
			byReason[w] = append(byReason[w], m)
		}
		for _, w := range reasons {
			say(byReason[w], w)
		}
	}
	switch e.Command {
	case history.CommandRelease:
		say(e.Yes, "deleted the key")
	default:
		say(e.Yes, "said yes")
	}
	group(e.No, func(m string) string { return "said no" + n.refusal(e, m) })
	group(e.Silent, func(m string) string { return "did not answer" + n.silence(e, m) })
	return strings.Join(parts, "; ")
}

// refusal returns the reason why a master said no, as far as the votes show it.
func (n *Narrative) refusal(e *placed, master string) string {
	if e.Command != history.CommandSet {
		return ": the key did not store that token"
	}
	if x := n.r.HolderAt(facts.Place{Master: master, Key: e.Key}, e.At); x != nil && x.Party.Token != e.Token {
		return fmt.Sprintf(": it stored the key of %s", Again(x.Party.Client, e.Client))
	}
	return ""
}

// silence names the faults that may be why a master did not answer.
func (n *Narrative) silence(e *placed, master string) string {
	var names []string
	for _, v := range e.ask.Votes {
		if v.Master != master || !v.Unknown {
			continue
		}
		for _, f := range n.r.FaultsWithin(facts.Sent(v), v.At) {
			if facts.Silences(f, v) {
				names = append(names, fmt.Sprintf("%s #%d", f.Name, f.ID))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
