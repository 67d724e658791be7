package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// request is one command that a client sent to masters at once, with their replies.
type request struct {
	client, token, command string
	sent                   time.Duration
	votes                  []history.Vote // in the order in which the client had them
}

// atOnce is how far apart commands are sent that are one request.
const atOnce = 2 * time.Millisecond

// requestsOf gathers the votes on a key into requests.
func requestsOf(h *history.History, key string) []*request {
	type of struct{ client, token, command string }
	latest := map[of][]*request{}
	var all []*request
	for _, v := range history.Votes(h.Ops) {
		if v.Key != key {
			continue
		}
		o, sent := of{v.Client, v.Token, v.Command}, v.At-v.Took
		var mine *request
		for _, a := range slices.Backward(latest[o]) {
			if (sent-a.sent).Abs() <= atOnce && !a.asked(v.Master) {
				mine = a
				break
			}
		}
		if mine == nil {
			mine = &request{client: v.Client, token: v.Token, command: v.Command, sent: sent}
			latest[o] = append(latest[o], mine)
			all = append(all, mine)
		}
		mine.sent = min(mine.sent, sent)
		mine.votes = append(mine.votes, v)
	}
	return all
}

func (a *request) asked(master string) bool {
	return slices.ContainsFunc(a.votes, func(v history.Vote) bool { return v.Master == master })
}

// masters are those that were asked, in the order of their numbers.
func (a *request) masters() []string {
	var n numbering
	for _, v := range a.votes {
		n.add(v.Master)
	}
	n.sort()
	return n.list
}

// attempt is the requests by which a lease was granted: one for all masters, or one
// after the other, and the writing back of fencing tokens. Earlier tries may have had
// the same token.
func (s *scene) attempt(l *history.Lease) []*request {
	var found []*request
	asked := map[string]bool{}
	for _, a := range slices.Backward(s.requests) {
		if a.client != l.Process || a.token != l.Token || a.sent > l.Acquired() {
			continue
		}
		if a.command == history.CommandWriteBack && len(asked) == 0 {
			found = append(found, a)
		}
		if a.command != history.CommandSet || slices.ContainsFunc(a.masters(), func(m string) bool { return asked[m] }) {
			continue
		}
		for _, m := range a.masters() {
			asked[m] = true
		}
		found = append(found, a)
	}
	return found
}

// of are the requests about a lease that were sent in a time.
func (s *scene) of(l *history.Lease, command string, from, to time.Duration) []*request {
	var found []*request
	for _, a := range s.requests {
		if a.client == l.Process && a.token == l.Token && a.command == command && a.sent >= from && (a.sent < to || s.v.At == s.v.Until && a.sent == to) {
			found = append(found, a)
		}
	}
	return found
}

// last is a client's last try to get the key before the violation's end.
func (s *scene) last(client string) *request {
	for _, a := range slices.Backward(s.requests) {
		if a.client == client && a.command == history.CommandSet && a.sent <= s.v.Until {
			return a
		}
	}
	return nil
}

// deletes says whether a request deleted the key of a lease at odds that was not its
// own.
func (s *scene) deletes(a *request) bool {
	if a.command != history.CommandRelease || s.lease(a.token) >= 0 {
		return false
	}
	return slices.ContainsFunc(a.votes, func(v history.Vote) bool {
		_, ok := s.storedAt(v.Master, v.At-v.Took)
		return ok && v.Yes
	})
}

// storedAt is the lease at odds whose key a master stored at a time.
func (s *scene) storedAt(master string, at time.Duration) (*stored, bool) {
	for i := range s.t.stored {
		x := &s.t.stored[i]
		if s.t.masters[x.master] == master && s.t.keys[x.key] == s.v.Key && x.from <= at && at <= x.to && s.lease(x.token) >= 0 {
			return x, true
		}
	}
	return nil, false
}

// tellRequest tells of a request and of each reply to it.
func (s *scene) tellRequest(a *request) {
	order := s.before(a.sent+1) - 1 // after the lines of that instant
	order = min(order, 2*a.votes[0].Index-1)
	word, text := "SET", fmt.Sprintf("%s asks %s for %s: SET NX with the token %s", a.client, s.all(a.masters()), s.v.Key, short(a.token))
	if ttl := s.h.Header.TTL; ttl > 0 {
		text += ", for " + brief(ttl)
	}
	switch a.command {
	case history.CommandExtend:
		word, text = "extend", fmt.Sprintf("%s asks %s to extend its lease", a.client, s.all(a.masters()))
	case history.CommandRelease:
		word, text = "release", fmt.Sprintf("%s tells %s to delete the key if it holds the token %s", a.client, s.all(a.masters()), short(a.token))
	case history.CommandWriteBack:
		word, text = "fence", fmt.Sprintf("%s writes the highest fencing token back to %s", a.client, s.all(a.masters()))
	}
	var lost []string
	for _, v := range a.votes {
		if v.Unknown && slices.ContainsFunc(s.faults, func(f *history.Fault) bool { return s.silences(f, v) && stopsRequests(f) }) {
			lost = append(lost, v.Master)
		}
	}
	x := s.add(a.sent, order, text+".", mark{a.client, word})
	x.ask, x.arrow = a, &arrow{client: a.client, masters: a.masters(), lost: lost}
	for _, v := range a.votes {
		if v.At > s.v.Until && v.At > s.from && !(s.v.At == s.v.Until && v.Index <= slices.Max(append(s.v.Ops, 0))) {
			continue // it came too late to matter
		}
		x := s.add(v.At, 2*v.Index, "", mark{v.Master, said(v)})
		x.ask, x.arrow = a, &arrow{client: a.client, masters: []string{v.Master}, back: true}
		if v.Unknown {
			x.arrow.lost = x.arrow.masters
		}
	}
}

// said is a reply in a word.
func said(v history.Vote) string {
	switch {
	case v.Unknown:
		return "?"
	case v.Yes:
		return "yes"
	}
	return "no"
}

// stopsRequests says whether a fault keeps a request from its master.
func stopsRequests(f *history.Fault) bool {
	return f.Name != "pause" && f.Name != "slow" && f.Params["direction"] != "replies"
}

// silences says whether a fault may be why a master did not answer.
func (s *scene) silences(f *history.Fault, v history.Vote) bool {
	if !v.Unknown || !f.Installed || f.From > v.At || f.To < v.At-v.Took || !slices.Contains(f.Masters, v.Master) {
		return false
	}
	if len(f.Clients) > 0 && !slices.Contains(f.Clients, v.Client) {
		return false
	}
	switch f.Name {
	case "partition", "slow", "reset", "slow-fsync", "full-disk":
		return true
	}
	return stops[f.Name] != "" || f.Name == "failover"
}

// replies tells what some masters answered, and why as far as is known.
func (s *scene) replies(a *request, from []string) string {
	groups := map[string][]string{}
	var order []string
	votes := slices.Clone(a.votes)
	slices.SortStableFunc(votes, func(a, b history.Vote) int { return byNumber(a.Master, b.Master) })
	for _, v := range votes {
		if !slices.Contains(from, v.Master) {
			continue
		}
		says := s.because(a, v)
		if groups[says] == nil {
			order = append(order, says)
		}
		groups[says] = append(groups[says], v.Master)
	}
	var parts []string
	for _, says := range order {
		one, many, _ := strings.Cut(says, "/")
		verb, rest, _ := strings.Cut(many, "|")
		if names := groups[says]; len(names) > 1 {
			parts = append(parts, checker.Enumerate(names)+" "+verb+rest)
		} else {
			parts = append(parts, names[0]+" "+one+rest)
		}
	}
	return strings.Join(parts, "; ") + "."
}

// because is a reply as "verb of one master/verb of many|and why".
func (s *scene) because(a *request, v history.Vote) string {
	switch {
	case v.Unknown:
		why := ""
		for _, f := range s.faults {
			if s.silences(f, v) {
				why = fmt.Sprintf(" (%s #%d)", f.Name, f.ID)
			}
		}
		return "does not answer/do not answer|" + why
	case !v.Yes && a.command != history.CommandSet:
		return "says no/say no|: the key does not hold that token"
	case !v.Yes:
		if x, ok := s.storedAt(v.Master, v.At); ok {
			return fmt.Sprintf("says no/say no|: there the key holds the token of %s", s.holder(x.token))
		}
		return "says no/say no|"
	case a.command == history.CommandRelease && s.lease(a.token) < 0:
		if x, ok := s.storedAt(v.Master, v.At-v.Took); ok {
			return fmt.Sprintf("deletes/delete| the key, which held the token of %s", s.holder(x.token))
		}
	case a.command == history.CommandRelease:
		return "deletes/delete| the key"
	case a.command == history.CommandSet:
		return "says yes/say yes|" + s.despite(a, v)
	}
	return "says yes/say yes|"
}

// despite says what became of the other lease's key on a master that said yes.
func (s *scene) despite(a *request, v history.Vote) string {
	var last *stored
	for i := range s.t.stored {
		x := &s.t.stored[i]
		if s.t.masters[x.master] == v.Master && s.t.keys[x.key] == s.v.Key && s.lease(x.token) >= 0 && x.token != a.token && x.from < v.At {
			last = x
		}
	}
	if last == nil {
		return ""
	}
	whose := s.holder(last.token)
	switch last.ending {
	case lost:
		return ": the token of " + whose + " was lost there"
	case expired:
		return ": the token of " + whose + " has expired there"
	case seenGone:
		return ": the token of " + whose + " is gone there"
	case released:
		return ": the token of " + whose + " was deleted there"
	}
	if last.to < v.At-v.Took {
		return ": the token of " + whose + " was gone there"
	}
	for _, f := range s.faults {
		if (f.Name == "clock" || f.Name == "memory") && slices.Contains(f.Masters, v.Master) && f.From < v.At && f.To > last.from {
			return fmt.Sprintf(": the token of %s was gone there (%s #%d)", whose, f.Name, f.ID)
		}
	}
	return fmt.Sprintf(", although the token of %s was stored there %s before", whose, brief((v.At - last.from).Round(time.Millisecond)))
}

func (s *scene) holder(token string) string {
	if i := s.lease(token); i >= 0 {
		return s.leases[i].Process
	}
	return "another"
}

// all names masters, or says that they are all.
func (s *scene) all(masters []string) string {
	if n := s.h.Header.Masters; n == len(masters) && n > 2 {
		return fmt.Sprintf("all %d masters", n)
	}
	return checker.Enumerate(masters)
}

// tellVain counts what a client tried in vain meanwhile.
func (s *scene) tellVain(shown []*request) {
	for _, client := range s.clients {
		var first, last *request
		n := 0
		for _, a := range s.requests {
			if a.client == client && a.command == history.CommandSet && a.sent >= s.from && a.sent < s.v.At && !slices.Contains(shown, a) && s.lease(a.token) < 0 {
				if n++; first == nil {
					first = a
				}
				last = a
			}
		}
		switch {
		case n == 1:
			s.add(last.sent, 2*last.votes[0].Index-1, fmt.Sprintf("%s asks for %s, in vain.", client, s.v.Key), mark{client, "in vain"})
		case n > 1:
			s.add(last.sent, 2*last.votes[0].Index-1, fmt.Sprintf("%s has asked for %s %s since %s, each time in vain.", client, s.v.Key, plural(n, "time"), instant(first.sent)), mark{client, "in vain"})
		}
	}
}

// short is the beginning of a token, enough to tell it from others.
func short(token string) string {
	if len(token) <= 8 {
		return token
	}
	return cut(token, 8)
}

// afterLine is what follows the first line of a text, with a space before it.
func afterLine(text string) string {
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return " " + strings.ReplaceAll(rest, "\n", " ")
	}
	return ""
}
