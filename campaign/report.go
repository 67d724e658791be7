package campaign

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/history"
	"lockpick/workload"
)

// Event is what a client of a session reports of a lock, before or after it happens. The client waits for the answer:
// then its critical section lasts from the answer to acquired until it reports releasing, by the session's own clock.
type Event struct {
	Event  string   `json:"event"`  // one of Events
	Client string   `json:"client"` // c1, c2, …: whose links it uses
	Key    string   `json:"key"`    // the lock
	Token  string   `json:"token"`  // of acquired: the value that the masters store; "": not known
	TTLMS  *float64 `json:"ttl_ms"` // of acquired and extended: how long the lease lasts from acquiring or extending on; 0: until it is released
}

// Events lists what clients report: before a call that it begins, after it how it ended. A call of release that has no
// outcome may have ended at any time.
var Events = []string{"acquiring", "acquired", "refused", "extending", "extended", "releasing", "released"}

// use is one client's use of one lock.
type use struct{ client, key string }

// lockUse is the state of a use.
type lockUse struct {
	calling string        // the operation in flight, or ""
	began   time.Duration // when it was reported
	token   string        // of the lease, or ""
	granted time.Duration // when its last grant was reported
}

// Report records what a client reports. An error says what is wrong with the event, which then is not recorded.
func (x *Session) Report(e Event) error {
	settle, known := x.settle[e.Client]
	switch {
	case !known:
		return fmt.Errorf("client %q is unknown: use one of %s, each with addresses of its own (--clients starts more)", e.Client, strings.Join(workload.Clients(x.c.s.Clients), ", "))
	case !slices.Contains(Events, e.Event):
		return fmt.Errorf("event %q is unknown: use one of %s", e.Event, strings.Join(Events, ", "))
	case e.Key == "":
		return errors.New("key is missing: it names the lock")
	}
	if e.Event == "acquired" && settle != nil {
		settle() // the votes of the acquire come before its return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return errOver
	}
	at := use{e.Client, e.Key}
	u := x.uses[at]
	if u == nil {
		u = &lockUse{}
		x.uses[at] = u
		x.locks[e.Key] = true
	}
	return x.report(at, u, e)
}

func (x *Session) report(at use, u *lockUse, e Event) error {
	record := func(typ history.Type, f string, v history.Value) {
		x.c.recorder.Record(history.Op{Process: at.client, Type: typ, F: f, Key: at.key, Value: &v})
	}
	must := func(calling string, before string) error {
		if u.calling == calling {
			return nil
		}
		return fmt.Errorf("%s reports %s of %s without %s: report %s just before the call", at.client, e.Event, at.key, before, before)
	}
	invoke := func(f string, v history.Value) error {
		if u.calling == history.FRelease { // its outcome was not reported
			record(history.Info, u.calling, history.Value{Token: u.token})
			u.token, u.calling = "", ""
		}
		if u.calling != "" {
			return fmt.Errorf("%s reports %s of %s, and its %s has not ended: report how, and let each thread be a client of its own", at.client, e.Event, at.key, u.calling)
		}
		if f != history.FAcquire && u.token == "" {
			return fmt.Errorf("%s reports %s of %s, and has no lease: report acquired first", at.client, e.Event, at.key)
		}
		u.calling, u.began = f, x.c.now()
		record(history.Invoke, f, v)
		return nil
	}
	grant := func(f string) error {
		until, err := x.until(u.began, e)
		if err != nil {
			return err
		}
		record(history.OK, f, history.Value{Token: u.token, ValidUntil: until})
		u.calling, u.granted = "", x.c.now()
		return nil
	}
	switch e.Event {
	case "acquiring":
		return invoke(history.FAcquire, history.Value{})
	case "acquired":
		if _, err := x.until(0, e); err != nil {
			return err
		}
		if err := must(history.FAcquire, "acquiring"); err != nil {
			return err
		}
		x.forsake(at, u)
		u.token = x.tokenOf(at, e.Token)
		if err := grant(history.FAcquire); err != nil {
			return err
		}
		record(history.Info, history.FEnter, history.Value{Token: u.token})
	case "refused":
		if u.calling != history.FAcquire && u.calling != history.FExtend {
			return must(history.FAcquire, "acquiring or extending")
		}
		v := history.Value{}
		if u.calling == history.FExtend { // with the token of an earlier lease, a refused acquire would show its client in the section
			v.Token = u.token
		}
		record(history.Fail, u.calling, v)
		u.calling = ""
	case "extending":
		return invoke(history.FExtend, history.Value{Token: u.token})
	case "extended":
		if err := must(history.FExtend, "extending"); err != nil {
			return err
		}
		return grant(history.FExtend)
	case "releasing":
		return invoke(history.FRelease, history.Value{Token: u.token})
	case "released":
		if err := must(history.FRelease, "releasing"); err != nil {
			return err
		}
		record(history.OK, history.FRelease, history.Value{Token: u.token})
		u.calling, u.token = "", ""
	}
	return nil
}

// until returns when the lease of a grant ends, at the earliest: its TTL counts from a time before the request was sent.
func (x *Session) until(began time.Duration, e Event) (time.Duration, error) {
	switch {
	case e.TTLMS == nil:
		return 0, errors.New("ttl_ms is missing: the TTL of the lease in milliseconds, or 0 if it lasts until it is released")
	case *e.TTLMS == 0:
		return history.Endless, nil
	}
	ttl := time.Duration(*e.TTLMS * float64(time.Millisecond))
	if ttl < 0 || ttl > x.c.s.TTL {
		return 0, fmt.Errorf("ttl_ms %v is out of range: at most %d here; start the masters with --ttl for longer leases", *e.TTLMS, x.c.s.TTL.Milliseconds())
	}
	return began + ttl, nil
}

// tokenOf returns the name of a lease: the token, if masters have stored it. Otherwise the votes do not say whose they are.
func (x *Session) tokenOf(at use, token string) string {
	if token != "" && x.stored[token] {
		return token
	}
	x.named++
	why := fmt.Sprintf("%s did not report the token of %s", at.client, at.key)
	if token != "" {
		why = fmt.Sprintf("no master was seen to store the token that %s reported of %s", at.client, at.key)
	}
	x.c.unseen(why)
	return fmt.Sprintf("%s-%d", at.client, x.named)
}

// forsake ends a lease whose release was not reported, at its last grant: the client may have released it at any time since.
func (x *Session) forsake(at use, u *lockUse) {
	if u.token == "" {
		return
	}
	x.c.recorder.RecordAt(history.Op{Process: at.client, Type: history.Info, F: history.FLost, Key: at.key, Error: "its release was not reported", Value: &history.Value{Token: u.token}}, u.granted)
	u.token = ""
}

// conclude ends what was not reported to the end.
func (x *Session) conclude() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, at := range slices.SortedFunc(maps.Keys(x.uses), func(a, b use) int { return strings.Compare(a.client+" "+a.key, b.client+" "+b.key) }) {
		if u := x.uses[at]; u.calling != history.FRelease {
			x.forsake(at, u)
		}
	}
}

// keyNames returns the names of the locks that were reported.
func (x *Session) keyNames() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.AppendSeq([]string{}, maps.Keys(x.locks)) // not nil, which would mean that masters store no tokens
}

// vote records a vote on the link of a client.
func (x *Session) vote(client string, op history.Op, at time.Time) {
	op.Value.Client = client
	x.mu.Lock()
	if op.Value.Command == history.CommandSet && op.Value.Yes {
		x.stored[op.Value.Token] = true
	}
	lock := x.locks[op.Key]
	calling := x.calling(client)
	x.mu.Unlock()
	if !lock {
		x.keys.NameVote(&op, func() string { return calling })
	}
	x.c.recorder.RecordAt(op, at.Sub(x.c.start))
}

// calling returns the lock that a client is about to acquire, or "" if it is none or one of several.
func (x *Session) calling(client string) (key string) {
	for at, u := range x.uses {
		if at.client == client && u.calling == history.FAcquire {
			if key != "" {
				return ""
			}
			key = at.key
		}
	}
	return key
}
