package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// tellLease tells what its client was told of a lease, and believed.
func (s *scene) tellLease(l *history.Lease) {
	who := l.Process
	skipped := 0
	for i, g := range l.Grants {
		if g.At > s.v.Until {
			break
		}
		if i > 0 && s.overtaken(l, i) {
			skipped++
			continue
		}
		more := ""
		if skipped > 0 {
			more, skipped = fmt.Sprintf(", for the %dth time", skipped+1), 0
		}
		switch {
		case g.Bent:
			s.add(g.At, 2*g.Index, fmt.Sprintf("The clock of %s is bent: its lease lasts until %s now.", who, instant(g.Until)), mark{who, "clock"})
		case i > 0:
			s.add(g.At, 2*g.Index, fmt.Sprintf("%s is told that its lease was extended%s: it may rely on %s until %s.%s", who, more, l.Key, instant(g.Until), s.both(l, g)), mark{who, "extended"})
		default:
			s.add(g.At, 2*g.Index, s.granted(l), mark{who, "granted"})
		}
	}
	spans := l.Holds()
	for i, hold := range spans {
		end := hold.To
		if end > s.v.Until || hold.Empty() || l.ReleaseIndex >= 0 && l.Released == end {
			continue
		}
		text := fmt.Sprintf("The lease of %s is over.", who)
		if i == len(spans)-1 && l.EnterIndex >= 0 && l.Left > end {
			text = fmt.Sprintf("The lease of %s is over, and it is still in its critical section.", who)
		}
		s.add(end, s.before(end), text, mark{who, "lapsed"}).ends = true
	}
	if l.ReleaseIndex >= 0 && l.Released <= s.v.Until {
		if op := s.op(l.ReleaseIndex); op != nil && op.F == history.FRelease {
			s.add(l.Released, 2*l.ReleaseIndex, fmt.Sprintf("%s gives %s back.", who, l.Key), mark{who, "release"}).ends = true
		}
	}
	if s.v.Level == checker.MutualExclusion.Level || s.v.Level == checker.FencingMonotone.Level || l.EnterIndex < 0 {
		return
	}
	if l.Entered <= s.v.Until {
		s.add(l.Entered, 2*l.EnterIndex, fmt.Sprintf("%s enters its critical section.", who), mark{who, "enter"})
	}
	if l.LeaveIndex >= 0 && l.Left <= s.v.Until {
		s.add(l.Left, 2*l.LeaveIndex, fmt.Sprintf("%s leaves its critical section.", who), mark{who, "leave"}).ends = true
	}
}

// overtaken says whether later extensions make one not worth telling.
func (s *scene) overtaken(l *history.Lease, i int) bool {
	later := 0
	for _, g := range l.Grants[i+1:] {
		if g.At <= s.v.Until && !g.Bent {
			later++
		}
	}
	return later >= 2
}

// granted says what a lease rests on, and what its client believes.
func (s *scene) granted(l *history.Lease) string {
	g := l.Grants[0]
	yes := map[string]bool{}
	for _, a := range s.attempt(l) {
		for _, v := range a.votes {
			if v.Yes && v.At <= g.At && a.command == history.CommandSet {
				yes[v.Master] = true
			}
		}
	}
	rests := ""
	switch n, quorum := len(yes), s.h.Header.Quorum; {
	case n == 0:
		rests = fmt.Sprintf("%s is granted %s", l.Process, l.Key)
	case n < quorum:
		rests = fmt.Sprintf("%s are fewer than the quorum of %d, and yet %s takes %s for granted", plural(n, "yes vote"), quorum, l.Process, l.Key)
	default:
		rests = fmt.Sprintf("With %d yes of %d %s is granted %s", n, max(s.h.Header.Masters, n), l.Process, l.Key)
	}
	if l.Fence != 0 {
		rests += fmt.Sprintf(", with the fencing token %d", l.Fence)
	}
	if g.Until <= g.At {
		return fmt.Sprintf("%s; but that lease was over at %s.", rests, instant(g.Until))
	}
	return fmt.Sprintf("%s: it may rely on it until %s.%s", rests, instant(g.Until), s.both(l, g))
}

// both says of the grant with which the violation begins that two clients believe now
// that they hold the lock.
func (s *scene) both(l *history.Lease, g history.Grant) string {
	if s.v.Level != checker.MutualExclusion.Level || g.At != s.v.At || len(s.leases) < 2 || s.leases[1] != l {
		return ""
	}
	a := s.leases[0].Process
	if a == l.Process {
		return fmt.Sprintf(" But it holds %s already, by an earlier lease.", l.Key)
	}
	return fmt.Sprintf(" But so may %s: from now on both believe that %s is theirs.", a, l.Key)
}

// tellFault tells of a fault when it is installed and when it is healed.
func (s *scene) tellFault(f *history.Fault) {
	name := fmt.Sprintf(" (%s #%d)", f.Name, f.ID)
	did, word := did(f)
	if f.From <= s.v.Until {
		marks := s.struckBy(f, word)
		if ended := stops[f.Name] == "down" || f.Name == "failover"; ended {
			did += s.keeps()
		}
		s.add(f.From, 2*f.Index, did+name+".", marks...)
	}
	if stops[f.Name] == "down" || f.Name == "failover" {
		s.tellRestarts(f)
		return
	}
	if f.Healed && f.To <= s.v.Until && f.To >= s.from {
		what := map[string]string{
			"pause": " go on, and carry out first what they were sent meanwhile", "partition": " can be reached again", "reset": " can be reached again",
			"slow": " are as fast as before", "clock": " have the right time again",
		}[f.Name]
		text := fmt.Sprintf("%s #%d ends.", f.Name, f.ID)
		if what != "" && len(f.Masters) > 1 {
			text = checker.Enumerate(f.Masters) + what + name + "."
		} else if what != "" && len(f.Masters) == 1 {
			what = strings.NewReplacer(" go on", " goes on", " carry", " carries", " they were", " it was", " are ", " is ", " have ", " has ").Replace(what)
			text = f.Masters[0] + what + name + "."
		}
		s.add(f.To, 2*f.HealIndex, text, s.struckBy(f, "healed")...)
	}
}

// did says what a fault does, as a sentence without its end, and in a word.
func did(f *history.Fault) (text, word string) {
	masters, clients := checker.Enumerate(f.Masters), checker.Enumerate(f.Clients)
	be := is(f.Masters)
	switch f.Name {
	case "partition":
		how := "what they send each other is lost"
		switch {
		case f.Params["mode"] == "hold":
			how = "what they send each other is held back"
		case f.Params["direction"] == "replies":
			how = "its replies to them are lost"
		case f.Params["direction"] == "requests":
			how = "what it sends them is lost"
		}
		who := clients
		if len(f.Clients) == 0 {
			who = "every client"
		}
		verb := is(f.Clients)
		if f.Params["direction"] == "replies" {
			how = "their replies are lost"
		}
		word = "cut"
		if len(f.Clients) == 1 {
			word = "cut " + f.Clients[0]
		}
		return who + verb + " cut off from " + masters + ": " + how, word
	case "reset":
		return "The connections to " + masters + " break, and new ones are refused", "reset"
	case "slow":
		return masters + be + " slow to answer, by " + f.Params["delay"], "slow"
	case "pause":
		return masters + be + " stopped", "paused"
	case "kill":
		return masters + be + " killed", "killed"
	case "shutdown":
		return masters + be + " shut down", "down"
	case "powercut":
		return "The power of " + masters + " is cut", "no power"
	case "failover":
		return masters + be + " killed, and a replica takes over", "killed"
	case "clock":
		clock := f.Params["clock"]
		switch {
		case strings.HasPrefix(clock, "+"):
			return fmt.Sprintf("The clock of %s jumps forward by %s", masters, clock[1:]), clock
		case strings.HasPrefix(clock, "-"):
			return fmt.Sprintf("The clock of %s jumps back by %s", masters, clock[1:]), clock
		case strings.HasPrefix(clock, "x"):
			return fmt.Sprintf("The clock of %s runs at %s of its rate", masters, clock[1:]), clock
		}
		return "The clock of " + masters + be + " wrong: " + clock, "clock"
	case "memory":
		return "The memory of " + masters + be + " filled", "full"
	case "client-pause":
		return clients + is(f.Clients) + " to be stopped" + strings.TrimSuffix(" at the point "+f.Params["point"], " at the point "), "to stop"
	case "client-kill":
		return clients + " is to end at the point " + f.Params["point"], "to end"
	case "client-clock":
		return "The clock of " + clients + " runs at " + f.Params["rate"] + " of its rate", "clock"
	}
	return fmt.Sprintf("%s strikes %s", f.Name, checker.Enumerate(append(slices.Clone(f.Masters), f.Clients...))), f.Name
}

func is(names []string) string {
	if len(names) > 1 {
		return " are"
	}
	return " is"
}

// struckBy marks a fault on whom it strikes: masters and links at the master, else
// the client.
func (s *scene) struckBy(f *history.Fault, word string) []mark {
	var marks []mark
	for _, m := range f.Masters {
		marks = append(marks, mark{m, word})
	}
	if len(marks) == 0 {
		for _, c := range f.Clients {
			marks = append(marks, mark{c, word})
		}
	}
	return marks
}

// keeps says what a master that ends keeps.
func (s *scene) keeps() string {
	switch p := s.h.Header.Persistence; p {
	case "":
		return ""
	case "none":
		return ", without persistence"
	default:
		return ", with persistence " + p
	}
}

// tellRestarts tells when the masters that a fault had ended were up again, and what
// they had kept.
func (s *scene) tellRestarts(f *history.Fault) {
	for i := range s.h.Ops {
		op := &s.h.Ops[i]
		if op.F != history.FState || op.Value == nil || op.Value.State != "up" || op.Time < f.Began || op.Time > s.v.Until || op.Time > f.To || !slices.Contains(f.Masters, op.Process) {
			continue
		}
		text := op.Process + " is up again"
		if op.Value.Keys != nil {
			switch token, has := op.Value.Keys[s.v.Key]; {
			case !has:
				text += fmt.Sprintf(": it stores nothing under %s any more", s.v.Key)
			case s.lease(token) >= 0:
				text += fmt.Sprintf(": it still stores the token of %s", s.holder(token))
			}
		}
		s.add(op.Time, 2*i, text+".", mark{op.Process, "up"})
	}
}

// tellOperations tells of what clients went through meanwhile, and of the operations
// that prove the violation.
func (s *scene) tellOperations() {
	for i := range s.h.Ops {
		op := &s.h.Ops[i]
		proves := slices.Contains(s.v.Ops, op.Index)
		if op.Time > s.v.Until && !proves || op.Time < s.from && !proves {
			continue
		}
		v := op.Value
		if v == nil {
			v = &history.Value{}
		}
		cast := slices.Contains(s.clients, op.Process)
		told := len(s.steps)
		switch {
		case op.F == history.FPaused && cast && op.Type == history.Invoke:
			s.add(op.Time, 2*i, fmt.Sprintf("%s is stopped%s.", op.Process, atPoint(v.Point)), mark{op.Process, "stopped"})
		case op.F == history.FPaused && cast:
			s.add(op.Time, 2*i, fmt.Sprintf("%s goes on, and does not know that it was stopped.", op.Process), mark{op.Process, "goes on"})
		case op.F == history.FCrash && cast:
			s.add(op.Time, 2*i, fmt.Sprintf("%s ends%s, and releases nothing.", op.Process, atPoint(v.Point)), mark{op.Process, "ends"}).ends = true
		case op.F == history.FExtend && op.Type == history.Invoke && s.lease(v.Token) >= 0 && proves,
			op.F == history.FExtend && op.Type != history.OK && op.Type != history.Invoke && s.lease(v.Token) >= 0:
			s.add(op.Time, 2*i, fmt.Sprintf("%s: %s.", op.Process, tell(op)), mark{op.Process, "extend"})
		case op.F == history.FApply && proves:
			who := s.holder(v.Token)
			wrong := ""
			if op.Index == s.v.Ops[len(s.v.Ops)-1] {
				wrong = ", whose lease is the earlier one: it is stale"
				if s.v.Property == checker.NoLostUpdate.Name {
					wrong = ", computed from a value that had been replaced: that update is lost"
				}
			}
			text := fmt.Sprintf("The resource applies the write of %d by %s%s%s.", v.Value, who, fenceOf(v), wrong)
			s.add(op.Time, 2*i, text, mark{who, "applied"})
			s.tellSent(op)
		case op.F == history.FRead && proves:
			s.add(op.Time, 2*i, fmt.Sprintf("%s reads %d from the resource.", op.Process, v.Value), mark{op.Process, "read"})
		case op.F == history.FMark && proves:
			who := s.holder(v.Token)
			s.add(op.Time, 2*i, fmt.Sprintf("%s puts its token into the resource.", who), mark{who, "mark"})
		case op.F == history.FLook && proves:
			held := slices.Sorted(maps.Values(v.Keys))
			text := fmt.Sprintf("%s itself says that it stores nothing.", op.Process)
			if token := v.Keys[s.v.Key]; token != "" {
				text = fmt.Sprintf("%s itself says that it stores the token %s under %s.", op.Process, short(token), s.v.Key)
			} else if len(held) > 0 {
				text = fmt.Sprintf("%s itself says that it stores nothing under %s.", op.Process, s.v.Key)
			}
			s.add(op.Time, 2*i, text, mark{op.Process, "look"})
		case op.F == history.FHealed && proves:
			s.add(op.Time, 2*i, fmt.Sprintf("All faults have healed: within %s a free lock must be granted.", brief(v.Bound)))
		case op.F == history.FAcquire && op.Type == history.Invoke && proves:
			s.add(op.Time, 2*i, fmt.Sprintf("%s asks for %s.", op.Process, op.Key), mark{op.Process, "acquire"})
		case op.F == history.FAcquire && op.Type != history.OK && proves:
			s.add(op.Time, 2*i, fmt.Sprintf("%s gives up: %s.", op.Process, op.Error), mark{op.Process, "refused"})
		case op.F == history.FAcquire && proves && s.lease(v.Token) < 0:
			s.add(op.Time, 2*i, fmt.Sprintf("%s is granted %s.", op.Process, op.Key), mark{op.Process, "granted"})
		}
		for ; told < len(s.steps); told++ {
			s.steps[told].proves = proves
		}
	}
}

// tellSent tells when a client sent the write that was applied, if time passed.
func (s *scene) tellSent(apply *history.Op) {
	for i := apply.Index - 1; i >= 0; i-- {
		op := &s.h.Ops[i]
		if op.F != history.FWrite || op.Type != history.Invoke || op.Key != apply.Key || op.Value == nil || op.Value.Token != apply.Value.Token || op.Value.Value != apply.Value.Value {
			continue
		}
		if op.Time < apply.Time {
			s.add(op.Time, 2*i, fmt.Sprintf("%s sends its write of %d.", op.Process, op.Value.Value), mark{op.Process, "write"})
		}
		return
	}
}

func fenceOf(v *history.Value) string {
	if !v.Fenced {
		return ""
	}
	return fmt.Sprintf(" with the fencing token %d", v.Fence)
}

func atPoint(point string) string {
	where := map[string]string{
		"after-quorum": " when it has its votes, and has not yet looked at the time", "before-enter": " when it has found its lease valid, and has not yet entered",
		"before-write": " when it has found its lease valid, and has not yet written",
		"before-mark":  " when it has found its lease valid, and has not yet put its token into the resource",
		"before-read":  " when it has not yet read from the resource",
	}[point]
	if where == "" && point != "" {
		return " at the point " + point
	}
	return where
}

// conclusion says in one sentence what is wrong.
func (s *scene) conclusion() string {
	v := s.v
	property := v.Level
	for _, p := range checker.Properties {
		if p.Name == v.Property || v.Property == "" && p.Level == v.Level {
			property = fmt.Sprintf("%s (%s)", words(p.Name), p.Level)
			break
		}
	}
	length := (v.Until - v.At).Round(time.Microsecond)
	switch {
	case v.Level == checker.MutualExclusion.Level && len(s.leases) == 2:
		return fmt.Sprintf("For %s, from %s to %s, %s could both rely on %s: this violates %s.", brief(length), instant(v.At), instant(v.Until), checker.Enumerate(v.Clients), v.Key, property)
	case v.Level == checker.BeliefExclusion.Level && v.Property != checker.Told.Name && len(v.Clients) == 2:
		return fmt.Sprintf("For %s, from %s to %s, %s were both in their critical sections: this violates %s.", brief(length), instant(v.At), instant(v.Until), checker.Enumerate(v.Clients), property)
	}
	text := fmt.Sprintf("This violates %s: %s.", property, strings.TrimSuffix(v.Summary, "."))
	if len(s.leases) < 2 { // it is not about two leases, so the steps do not say why
		text += " " + strings.Join(v.Reason, " ")
	}
	return text
}
