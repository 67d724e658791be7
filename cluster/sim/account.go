package sim

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// Account calls f with each command that changes keys of a master (0 is m1), and with all that masters do to
// keys by themselves, in the order of execution. f must not wait. Keys of FillMemory are left out. The error is nil.
func (c *Cluster) Account(f func(master int, x cluster.Executed)) error {
	c.observer = f
	for _, m := range c.masters {
		m.account = &account{master: m}
		m.store.Watch = m.account.note
	}
	return nil
}

// Settled returns at once: steps are passed on when they happen.
func (c *Cluster) Settled(context.Context, int) error { return nil }

// account collects what one command does to the keys of a master.
type account struct {
	master  *Master
	changes []cluster.Change
	call    []string // the command of a script or transaction that is being executed
}

// calls records that a script or a transaction executes a command.
func (a *account) calls(name string, args []string) {
	if a != nil {
		a.call = append([]string{name}, args...)
	}
}

// note records a change of a key. What a master does by itself is reported at once: a key expires before the
// command that finds it expired.
func (a *account) note(kind cluster.ChangeKind, key string, before, after *keyspace.Value) {
	if strings.HasPrefix(key, cluster.FillerPrefix) {
		return
	}
	c := cluster.Change{Key: key, Kind: kind}
	last := after
	if before != nil && before.Parts == nil {
		c.Before = before.Text
	}
	if after == nil {
		last = before
	} else if after.Parts == nil {
		c.Value = after.Text
	}
	c.Type = last.Type()
	if after != nil && last.Expires != keyspace.Never {
		c.Left = max(time.Duration(last.Expires-a.master.now())*time.Millisecond, 1) // a key that was restored may be overdue
	}
	switch kind {
	case cluster.Created, cluster.Changed, cluster.TTLSet, cluster.Deleted:
		c.Call = a.call
		a.changes = append(a.changes, c)
	default:
		a.tell(cluster.Executed{Changes: []cluster.Change{c}})
	}
}

func (a *account) tell(x cluster.Executed) {
	m := a.master
	x.At = world.Epoch.Add(time.Duration(m.world.Now()))
	x.Apart = m.cluster.masters[m.number-1] != m
	m.cluster.observer(m.number-1, x)
}

// connName names a connection in an account.
func connName(number int64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// end reports what a command has changed, and returns the changes.
func (a *account) end(conn int64, client string, args []string) []cluster.Change {
	a.call = nil
	if len(a.changes) == 0 {
		return nil
	}
	x := cluster.Executed{Conn: connName(conn), Client: client, Args: args, Changes: a.changes}
	a.changes = nil
	a.tell(x)
	return x.Changes
}

// replaced compares the keys of a server that has started with those before, and reports the differences.
func (a *account) replaced(before map[string]keyspace.Value) {
	m := a.master
	now := m.now()
	after := m.store.All()
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		old, was := before[key]
		v, is := after[key]
		switch {
		case was && !is && old.Expires < now:
			a.note(cluster.Expired, key, &old, nil)
		case was && !is:
			a.note(cluster.Lost, key, &old, nil)
		case !was:
			a.note(cluster.Restored, key, nil, &v)
		case !v.Same(&old) || v.Expires != old.Expires:
			a.note(cluster.Restored, key, &old, &v)
		}
	}
}

// words returns a request as a client sends it.
func (r *request) words(byText bool) []string {
	if r.script == nil {
		return append([]string{r.name}, r.args...)
	}
	words := []string{"evalsha", r.script.SHA, strconv.Itoa(len(r.keys))}
	if byText {
		words[0], words[1] = "eval", r.script.Text
	}
	return append(append(words, r.keys...), r.args...)
}
