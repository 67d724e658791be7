package world

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Choices makes all decisions of a run: which of several events of one instant happens first,
// how long a message travels, whether it is lost, and the random bytes. The choices determine
// the run.
type Choices interface {
	// Intn returns a number from 0 to n-1; n is at least 1. what names the decision (see the
	// What… constants); it is always one of a few constant strings.
	Intn(n int, what string) int
}

// These constants name the decisions.
const (
	WhatNext    = "next"    // which of the events that are due at one instant happens first
	WhatSelect  = "select"  // a reply or the end of a context, if both have arrived
	WhatLatency = "latency" // ns that a message travels, beyond the minimum
	WhatSpike   = "spike"   // whether a message is a slow one
	WhatLoss    = "loss"    // whether a message is lost
	WhatTwice   = "twice"   // whether a request arrives twice
	WhatLate    = "late"    // whether a request is held back, so that later ones overtake it
	WhatEffort  = "effort"  // ns that starting, stopping or asking a master takes, beyond the minimum
	// WhatBytes is for 62 random bits at a time. Other implementations of Choices must keep
	// tokens unique: never return the same bits twice in a run.
	WhatBytes  = "bytes"
	WhatLag    = "lag"    // delay of one change on its way to a replica
	WhatSweep  = "sweep"  // when a server notices that a key has expired
	WhatTorn   = "torn"   // how many bytes that were not fsynced survive a power cut
	WhatEvict  = "evict"  // which key a full memory evicts
	WhatMember = "member" // which key or member a command such as RANDOMKEY or SPOP chooses
	WhatPCT    = "pct"    // priorities and change points of the strategy PCT
)

// wide is the n of choices that represent real numbers.
const wide = 1 << 62

// Random draws every choice uniformly from a seed. The sequence depends only on the seed, on
// every machine and with every version of Go.
type Random struct{ source rand.PCG }

// NewRandom begins the sequence of a seed.
func NewRandom(seed uint64) *Random {
	r := &Random{}
	r.source.Seed(seed, 0x6c6f636b7069636b)
	return r
}

// Intn is uniform except for a bias below n/2⁶⁴.
func (r *Random) Intn(n int, _ string) int {
	hi, _ := bits.Mul64(r.source.Uint64(), uint64(n))
	return int(hi)
}

// Choice is one decision of a run.
type Choice struct {
	What  string
	N     int // number of possibilities
	Value int // the possibility that was chosen
}

// Tape contains the choices of a run, in order: together they distinguish the run from all
// other runs of the same program.
type Tape []Choice

// Recorder records the decisions of another Choices.
type Recorder struct {
	Tape Tape
	from Choices
}

// Record begins a tape of the decisions that from makes.
func Record(from Choices) *Recorder { return &Recorder{from: from} }

// Intn returns and records a decision.
func (r *Recorder) Intn(n int, what string) int {
	v := r.from.Intn(n, what)
	r.Tape = append(r.Tape, Choice{what, n, v})
	return v
}

// Player replays a tape. A tape that was shortened or edited can still be replayed: a value
// that is too large wraps around, and rest decides if the tape is over, or contains another
// decision at this place.
type Player struct {
	tape     Tape
	rest     Choices
	next     int
	diverged string
}

// Play makes the decisions of tape, and after its end those of rest.
func Play(tape Tape, rest Choices) *Player { return &Player{tape: tape, rest: rest} }

// Intn returns the tape's next value if the tape decided the same thing there.
func (p *Player) Intn(n int, what string) int {
	if p.next >= len(p.tape) {
		p.note("the tape is over after %d choices", len(p.tape))
		return p.rest.Intn(n, what)
	}
	c := p.tape[p.next]
	if c.What != what {
		p.note("choice %d is about %s, on the tape about %s", p.next, what, c.What)
		return p.rest.Intn(n, what)
	}
	if c.N != n {
		p.note("choice %d has %d possibilities, on the tape %d", p.next, n, c.N)
	}
	p.next++
	return c.Value % n
}

func (p *Player) note(format string, args ...any) {
	if p.diverged == "" {
		p.diverged = fmt.Sprintf(format, args...)
	}
}

// Diverged describes the first decision that the tape does not contain; "" if the run has
// followed the tape so far.
func (p *Player) Diverged() string { return p.diverged }

// Intn makes a decision of the run (Choices.Intn).
func (w *World) Intn(n int, what string) int { return w.choices.Intn(n, what) }

// UpTo draws a duration from 0 to d.
func (w *World) UpTo(d time.Duration, what string) time.Duration {
	return time.Duration(w.Intn(int(d)+1, what))
}

// Chance returns true with probability p. A probability of 0 needs no choice.
func (w *World) Chance(p float64, what string) bool {
	const parts = 1 << 30
	return p > 0 && w.Intn(parts, what) < int(p*parts)
}
