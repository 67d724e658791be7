package account

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// effect is what one command did to one key of a lock.
type effect struct {
	command    string // as in a vote
	key, token string
	ttl        time.Duration
	yes        bool
	args       []string // the command that did it
}

// holder is a client that stores values under a key.
type holder struct{ key, client string }

// stored is a value under a key, on any master.
type stored struct{ key, value string }

// token is a value that a client has stored under a key.
type token struct {
	client   string
	form     string // that created it first
	masters  []int  // on which it was created
	released bool   // a command of a form that releases has named it
}

// use is what a key is used for, as far as its changes show.
type use uint8

const (
	unused    use = iota
	lock          // each acquisition creates it with a value of its own, and it ends
	counter       // a number that only grows and never ends, such as a fencing counter
	opaqueUse     // neither
)

// learn follows the changes that a command of a client caused, and returns its effects on keys of
// locks.
func (a *Account) learn(m *master, client string, args []string, changes []cluster.Change) []effect {
	var all []effect
	for i := range changes {
		ch := &changes[i]
		if a.counts(m, ch) {
			continue
		}
		call := args
		if isTransaction(args) && ch.Call != nil {
			call = ch.Call
		}
		e, ok := a.effectOf(m, client, call, ch)
		if !ok {
			continue
		}
		e.args = call
		// SETNX and PEXPIRE in one script are one effect, as a SET with PX is.
		if n := len(all); n > 0 && ch.Kind == cluster.TTLSet && all[n-1].key == e.key && all[n-1].yes && all[n-1].command != history.CommandRelease {
			all[n-1].ttl = e.ttl
			continue
		}
		all = append(all, e)
	}
	for _, e := range all {
		a.noteForm(e.args, e)
	}
	return all
}

// counts reports whether a change belongs to a counter.
func (a *Account) counts(m *master, ch *cluster.Change) bool {
	before := m.use[ch.Key]
	grows := ch.Type == "string" && ch.Doubtful == "" && ch.Left == 0 && isNumber(ch.Value) && (ch.Kind == cluster.Created || ch.Kind == cluster.Changed && isNumber(ch.Before) && number(ch.Before) < number(ch.Value))
	if grows && (before == counter || before == unused && number(ch.Value) == 1 || ch.Kind == cluster.Changed && before == unused) {
		m.use[ch.Key] = counter
		return true
	}
	return false
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// effectOf returns the effect of one change. ok is false if it concerns no lock.
func (a *Account) effectOf(m *master, client string, args []string, ch *cluster.Change) (e effect, ok bool) {
	by := func() string { return fmt.Sprintf("%s's %s on %s", client, words(args), master0(m.number)) }
	switch {
	case ch.Type != "string":
		a.blind("%s %s %s, whose members are not leases: %s", ch.Key, verbs[ch.Kind], article(ch.Type), by())
		return effect{}, false
	case ch.Doubtful != "":
		a.blind("what %s stores is not certain (%s): %s", ch.Key, ch.Doubtful, by())
		return effect{}, false
	case m.use[ch.Key] == counter:
		a.blind("%s stored a number that grew, and was then %s: %s", ch.Key, past[ch.Kind], by())
		m.use[ch.Key] = opaqueUse
		return effect{}, false
	case m.use[ch.Key] == unused:
		m.use[ch.Key] = lock
	}
	e = effect{key: ch.Key, ttl: ch.Left, yes: true}
	switch ch.Kind {
	case cluster.Created:
		e.command, e.token = a.create(m, client, args, ch), ch.Value
	case cluster.Changed:
		if ch.Before == ch.Value {
			e.command, e.token = a.repeat(m, client, args, ch, ch.Value), ch.Value
			break
		}
		a.blind("%s replaced what %s stored", by(), ch.Key)
		e.command, e.token = a.create(m, client, args, ch), ch.Value
	case cluster.TTLSet:
		e.token = a.named(client, args, ch)
		e.command = a.repeat(m, client, args, ch, e.token)
	case cluster.Deleted:
		e.command, e.token = history.CommandRelease, a.named(client, args, ch)
		e.ttl = 0
		if t := a.tokens[stored{ch.Key, e.token}]; t != nil {
			t.released = true
		}
	default:
		return effect{}, false
	}
	return e, true
}

// create records that a client has stored a value, and returns the command of the vote: an extension
// may create a key anew that a master has lost.
func (a *Account) create(m *master, client string, args []string, ch *cluster.Change) string {
	at, form := stored{ch.Key, ch.Value}, formOf(args)
	a.latest[holder{ch.Key, client}] = ch.Value
	t := a.tokens[at]
	switch {
	case t == nil:
		a.tokens[at] = &token{client: client, form: form, masters: []int{m.number}}
		return history.CommandSet
	case t.client != client:
		a.blind("%s stored %q for %s and later for %s, so it does not name an acquisition", ch.Key, printable(ch.Value), t.client, client)
	case t.form != form && !t.released:
		return history.CommandExtend
	}
	if !slices.Contains(t.masters, m.number) {
		t.masters = append(t.masters, m.number)
	}
	t.client, t.form, t.released = client, form, false
	return history.CommandSet
}

// repeat returns the command of a vote for a command that left a stored value as it was, or set its time to live. It is an
// extension, but a client that did not get the reply acquires again, and finds its own key.
func (a *Account) repeat(m *master, client string, args []string, ch *cluster.Change, value string) string {
	t := a.tokens[stored{ch.Key, value}]
	switch {
	case t == nil || t.form != formOf(args) || t.released:
		return history.CommandExtend
	case t.client != client:
		again := *ch
		again.Value = value
		return a.create(m, client, args, &again)
	}
	return history.CommandSet
}

// named returns the token that a command is about: an argument that was ever stored under the key, or
// else what its client stored there last, or what the key stored.
func (a *Account) named(client string, args []string, ch *cluster.Change) string {
	i := find(args, func(s string) bool { return a.tokens[stored{ch.Key, s}] != nil })
	if i >= 0 {
		return args[i]
	}
	if own, known := a.latest[holder{ch.Key, client}]; known {
		return own
	}
	return ch.Before
}

// noteForm learns where the arguments of a form stand.
func (a *Account) noteForm(args []string, e effect) {
	name := formOf(args)
	f := a.forms[name]
	if f == nil {
		f = &form{command: e.command, key: -1, token: -1}
		a.forms[name] = f
	}
	if f.key < 0 {
		f.key = find(args, func(s string) bool { return s == e.key })
	}
	if f.token < 0 {
		f.token = find(args, func(s string) bool { return s == e.token })
		if f.token == f.key {
			f.token = -1
		}
	}
}

// withoutEffect returns the effect of a command that changed nothing, if one of the same form has
// changed a key before.
func (a *Account) withoutEffect(m *master, client string, args []string) (effect, bool) {
	f := a.forms[formOf(args)]
	if f == nil || f.key < 0 {
		return effect{}, false
	}
	e := effect{args: args, command: f.command, key: arg(args, f.key), token: arg(args, f.token)}
	if f.token < 0 {
		e.token = a.named(client, args, &cluster.Change{Key: e.key})
	}
	if e.command == history.CommandRelease {
		if t := a.tokens[stored{e.key, e.token}]; t != nil {
			t.released = true
		}
	}
	return e, e.token != ""
}

// blind says once why the votes do not describe the lock.
func (a *Account) blind(format string, args ...any) {
	if a.unseen {
		return
	}
	a.unseen = true
	if a.Unseen != nil {
		why := fmt.Sprintf(format, args...)
		a.pending = append(a.pending, func() { a.Unseen(why) })
	}
}

// verbs and past word changes of a key for people.
var (
	verbs = map[cluster.ChangeKind]string{cluster.Created: "became", cluster.Changed: "is", cluster.TTLSet: "is", cluster.Deleted: "was"}
	past  = map[cluster.ChangeKind]string{cluster.Created: "created anew", cluster.Changed: "replaced", cluster.TTLSet: "given a deadline", cluster.Deleted: "deleted"}
)

func article(kind string) string { return "a " + kind }
