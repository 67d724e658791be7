package sim

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// Choices decides everything that is left open: which of the things that could
// happen at one instant happens first, how long a message travels, whether it is
// lost, what the random bytes are. Whoever controls the choices controls the run.
type Choices interface {
	// Intn returns a number from 0 up to and without n, which is at least 1. what
	// says what is being decided (see the What… constants); it is always one of a
	// few constant strings.
	Intn(n int, what string) int
}

// What is being decided.
const (
	WhatNext    = "next"    // which of the things that are due at one instant goes first
	WhatSelect  = "select"  // of a reply and the end of a context that are both there
	WhatLatency = "latency" // ns of a message, beyond the least
	WhatSpike   = "spike"   // whether a message is a slow one
	WhatLoss    = "loss"    // whether a message is lost
	WhatTwice   = "twice"   // whether a request arrives twice
	WhatLate    = "late"    // whether a request is held back, so that later ones overtake it
	WhatEffort  = "effort"  // ns that starting, stopping or asking a master takes, beyond the least
	WhatBytes   = "bytes"   // 62 random bits at a time. A Choices of your own must keep tokens apart: never the same bits twice in a run.
	WhatLag     = "lag"     // of one change on its way to a replica
	WhatTorn    = "torn"    // how much of what was not fsynced survives a power cut
	WhatEvict   = "evict"   // which key a full memory gives up
	WhatPCT     = "pct"     // priorities and change points of the strategy PCT
)

// wide is the n of choices that are as good as real numbers.
const wide = 1 << 62

// Random draws every choice uniformly from a seed. The sequence depends on the seed
// alone, on every machine and with every version of Go.
type Random struct{ source rand.PCG }

// NewRandom starts the sequence of a seed.
func NewRandom(seed uint64) *Random {
	r := &Random{}
	r.source.Seed(seed, 0x6c6f636b7069636b)
	return r
}

// Intn is uniform but for a bias below n/2⁶⁴.
func (r *Random) Intn(n int, _ string) int {
	hi, _ := bits.Mul64(r.source.Uint64(), uint64(n))
	return int(hi)
}

// Choice is one decision of a run.
type Choice struct {
	What  string
	N     int // how many possibilities there were
	Value int // which one was taken
}

// Tape is the choices of a run, in order: the whole of what distinguishes it from
// other runs of the same program.
type Tape []Choice

// Recorder writes down what another Choices decides.
type Recorder struct {
	Tape Tape
	from Choices
}

// Record starts a tape of what from decides.
func Record(from Choices) *Recorder { return &Recorder{from: from} }

// Intn asks, and writes down the answer.
func (r *Recorder) Intn(n int, what string) int {
	v := r.from.Intn(n, what)
	r.Tape = append(r.Tape, Choice{what, n, v})
	return v
}

// Player plays a tape. A tape that was shortened or edited still plays: a value
// that is too large is wrapped around, and where the tape is over, or asks something
// else, the choice falls to rest.
type Player struct {
	tape     Tape
	rest     Choices
	next     int
	diverged string
}

// Play decides as tape does, and beyond it as rest does.
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

// Diverged says where the run first asked for something that the tape does not
// have, or nothing if it followed the tape to the letter so far.
func (p *Player) Diverged() string { return p.diverged }

// chance is true with a probability. A probability of 0 takes no choice.
func (w *World) chance(p float64, what string) bool {
	const parts = 1 << 30
	return p > 0 && w.choices.Intn(parts, what) < int(p*parts)
}
