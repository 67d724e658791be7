package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// Request is a request of the harness to a client process: one line on its stdin.
type Request struct {
	Op string `json:"op"` // init, acquire, extend, release, write, clock, continue, exit

	// All requests but init, clock and exit, if the process serves several clients:
	ID     int64  `json:"id,omitempty"`     // repeated in the answer
	Thread string `json:"thread,omitempty"` // the client that asks
	Object string `json:"object,omitempty"` // the lock object to use for the key

	// init:
	Protocol int    `json:"protocol,omitempty"` // ProtocolVersion
	Client   string `json:"client,omitempty"`
	Lock     string `json:"lock,omitempty"`
	Reached
	TTL     time.Duration `json:"ttl,omitempty"`     // ns
	TTLMS   float64       `json:"ttl_ms,omitempty"`  // TTL in milliseconds
	Timeout time.Duration `json:"timeout,omitempty"` // ns, per master; 0: the lock's default
	Wait    int           `json:"wait,omitempty"`    // replicas that must have a key before a master's vote counts
	Fencing bool          `json:"fencing,omitempty"`
	Margin  time.Duration `json:"margin,omitempty"` // ns before its end at which a lease is no longer used

	Kind    history.LockKind `json:"kind,omitempty"`    // which holds may overlap; empty: a mutex, or the client's own kind
	Permits int              `json:"permits,omitempty"` // how many a semaphore has; of acquire: how many it asks for
	Mode    string           `json:"mode,omitempty"`    // of acquire: history.ModeRead, or empty; of extend: the mode to change to

	// acquire, extend, release, write:
	Key      string        `json:"key,omitempty"`
	Keys     []string      `json:"keys,omitempty"`      // all keys, Key first, if the lease is of several (history.Multi)
	Within   time.Duration `json:"within,omitempty"`    // ns: acquire gives up after this time
	WithinMS float64       `json:"within_ms,omitempty"` // Within in milliseconds
	Token    string        `json:"token,omitempty"`
	Value    int64         `json:"value,omitempty"`
	Mark     bool          `json:"mark,omitempty"` // write: put the token into the resource just before

	// clock: from now on the client's clocks count Rate seconds in a true second, and its wall
	// clock is Offset (ns) ahead of a wall clock that has never been stepped
	Rate   float64       `json:"rate,omitempty"`
	Offset time.Duration `json:"offset,omitempty"`
}

// Reached tells a client how it reaches the masters: addresses of its own links, and what it needs to use them.
type Reached struct {
	Masters  []string `json:"masters,omitempty"`
	URLs     []string `json:"urls,omitempty"` // the same with all that is needed to connect: rediss://user:password@host:port
	User     string   `json:"user,omitempty"` // whom to log in as; empty: nobody
	Password string   `json:"password,omitempty"`
	CA       string   `json:"ca,omitempty"` // path of a PEM file with the authority of the masters' certificates; empty: no TLS
}

func reached(links []string, a cluster.Access) Reached {
	r := Reached{Masters: links, User: a.User, Password: a.Password, CA: a.CA}
	for _, l := range links {
		r.URLs = append(r.URLs, a.URL(l))
	}
	return r
}

// ProtocolVersion is the version of the protocol in docs/clients.md. Version 2 added the fields
// of the answer to init, and made all but four requests optional.
const ProtocolVersion = 2

// These constants name the requests.
const (
	opInit     = "init"
	opAcquire  = "acquire"
	opExtend   = "extend"
	opRelease  = "release"
	opWrite    = "write"
	opClock    = "clock"
	opContinue = "continue"
	opExit     = "exit"
)

// Message is a message of a client process: one line on its stdout. An outcome (ok, fail, info)
// ends the request; the other messages come during a request, or at any time.
type Message struct {
	ID    int64          `json:"id,omitempty"` // repeats that of the request
	Type  string         `json:"type"`         // ok, fail, info; vote, point, mark, apply, ended, renewed, valid, clock
	Key   string         `json:"key,omitempty"`
	Error string         `json:"error,omitempty"`
	Value *history.Value `json:"value,omitempty"`
	Token string         `json:"token,omitempty"` // of acquire and extend: a shorter way to write value.token
	Fence int64          `json:"fence,omitempty"` // of acquire: value.fence
	Hello                // of init
	// Left is the remaining validity of the lease on the client's own clock (of acquire,
	// extend, renewed and valid). At is the reading of the machine's monotonic clock at that
	// moment (ns).
	Left time.Duration `json:"left,omitempty"`
	At   int64         `json:"at,omitempty"`
	// Replied is set if Error is what a master replied (of vote).
	Replied bool `json:"replied,omitempty"`
	// When is the reading of the machine's monotonic clock, in ns, at the moment of the reply
	// (of vote) or of the end of the lease (of ended).
	When int64 `json:"when,omitempty"`
}

// check returns an error if a message is invalid.
func (m *Message) check() error {
	unasked := []string{msgToken, msgVote, msgPoint, msgMark, msgApply, msgEnded, msgRenewed, msgValid, msgClock}
	switch {
	case !slices.Contains(append(unasked, string(history.OK), string(history.Fail), string(history.Info)), m.Type):
		return fmt.Errorf("the type %q is unknown", m.Type)
	case m.Value == nil && m.Type != msgToken && slices.Contains(unasked, m.Type):
		return errors.New("the value is missing")
	}
	return nil
}

// parse decodes a message.
func parse(line []byte) (Message, error) {
	var m Message
	err := json.Unmarshal(line, &m)
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil:
		err = m.check()
	case errors.As(err, &mistyped) && mistyped.Field == "":
		err = errors.New("it is not an object")
	case errors.As(err, &mistyped):
		err = fmt.Errorf("the field %q takes no %s", mistyped.Field, mistyped.Value)
	}
	if err != nil {
		return Message{}, fmt.Errorf("the client's process said %q, which is not a message: %w", clip(line), err)
	}
	if m.Value == nil {
		m.Value = &history.Value{}
	}
	m.Value.Token, m.Value.Fence = cmp.Or(m.Value.Token, m.Token), cmp.Or(m.Value.Fence, m.Fence)
	return m, nil
}

// clip shortens a line for an error.
func clip(line []byte) []byte { return line[:min(len(line), 200)] }

// These constants name the messages that are not outcomes.
const (
	msgToken   = "token"   // the request with that id is about to ask for token
	msgVote    = "vote"    // a master's reply: error if there was none or it was one, value as in the history
	msgPoint   = "point"   // the client is at value.point and waits for continue
	msgMark    = "mark"    // the client sends its token to the resource
	msgApply   = "apply"   // the client sends its write to the resource
	msgEnded   = "ended"   // the lease with value.token is known to be over
	msgRenewed = "renewed" // the lock has extended the lease with value.token without a call
	msgValid   = "valid"   // the lease with value.token ends at another time than stated, because its clock was skewed
	msgClock   = "clock"   // the client uses the clock of a request now: value.rate, value.offset
)
