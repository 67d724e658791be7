package process

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"lockpick/cluster"
)

// ProgramClocks are the clocks of a program that loads the clock shim and is otherwise unchanged:
// of the process that gets Env in its environment, and of its children. They are right until Set
// skews them. The program sees a change when it next reads a clock, or within 50 ms if it waits.
//
// As in an operating system, all clocks have the same rate, and only the wall clock jumps. Times
// are readings of the machine's CLOCK_MONOTONIC, in nanoseconds.
type ProgramClocks struct {
	object string
	page   string
	remove func() error

	mu       sync.Mutex
	mem      []byte    // nil after Close
	settings []setting // the first one has right clocks
}

// setting is the rate of the clocks from a time on.
type setting struct {
	from   int64   // true time at which it begins
	gained int64   // ns by which the clocks were ahead then
	rate   float64 // seconds counted in a true second
}

func (s setting) shown(at int64) int64 {
	return at + s.gained + int64(float64(at-s.from)*(s.rate-1))
}

// This is the layout of the shared page, as clocks.c defines it.
const (
	clocksPage    = 4096
	clocksSetting = 16 // the first word of two settings of 8 words
	clocksEnv     = "LOCKPICK_CLOCKS"
)

// skewedClocks lists the clocks that have a base in a setting, in the order of the bases.
var skewedClocks = [...]int32{1, 4, 7, 0} // CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_REALTIME

// NewProgramClocks makes clocks for a program. The error is the reason why this machine cannot
// skew a program's clocks.
func NewProgramClocks(ctx context.Context) (_ *ProgramClocks, err error) {
	object, err := buildObject(ctx, "clocks", clocksSource)
	if err != nil {
		return nil, err
	}
	dir, remove, err := Scratch()
	if err != nil {
		return nil, fmt.Errorf("make the memory that the clock shim shares: %w", err)
	}
	c := &ProgramClocks{object: object, page: filepath.Join(dir, "clocks"), remove: remove, settings: []setting{{rate: 1}}}
	if err = c.open(); err == nil {
		err = c.try(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *ProgramClocks) open() error {
	f, err := os.OpenFile(c.page, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		defer f.Close()
		_, err = f.Write(make([]byte, clocksPage)) // a hole that cannot be filled would cause a SIGBUS
	}
	if err == nil {
		c.mem, err = syscall.Mmap(int(f.Fd()), 0, clocksPage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	}
	if err != nil {
		return fmt.Errorf("make the memory that the clock shim shares: %w", err)
	}
	c.word(wordMagic).Store(pageMagic)
	return nil
}

// try runs a shell with the shim. It detects a system whose libc lacks functions that the shim
// needs, on which clients would crash.
func (c *ProgramClocks) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, compileWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "command -v sh; sleep 0")
	cmd.Env = append(os.Environ(), c.Env()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("a shell does not run with the clock shim: %w: %s", err, out)
	}
	if c.word(wordHello).Load() == 0 {
		return errors.New("a shell did not load the clock shim: it may be linked statically, or lie with the shim where programs may not be run")
	}
	return nil
}

func (c *ProgramClocks) word(i int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&c.mem[8*i]))
}

// Env returns the variables to add to the program's environment.
func (c *ProgramClocks) Env() []string {
	return []string{preload(c.object, os.Getenv("LD_PRELOAD")), clocksEnv + "=" + c.page}
}

// Set skews the clocks: from now on they run at the rate, and the wall clock is ahead by the
// offset, relative to a wall clock that has never jumped.
func (c *ProgramClocks) Set(to cluster.Clock) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mem == nil {
		return os.ErrClosed
	}
	generation := c.word(wordGeneration)
	before := generation.Load()
	generation.Store(before + 1) // the program reads no clock until it is even again
	after := before
	defer func() { generation.Store(after) }()
	var w [8]uint64
	var at int64
	for i, id := range skewedClocks {
		t, err := readClock(id)
		if err != nil {
			return fmt.Errorf("read the clock %d: %w", id, err)
		}
		if i == 0 {
			at = t
		}
		w[1+i] = uint64(t)
	}
	last := c.settings[len(c.settings)-1]
	gained, rate := last.shown(at)-at, to.EffectiveRate()
	if gained != 0 || rate != 1 || to.Offset != 0 {
		w[0] = 1
	}
	w[5], w[6], w[7] = uint64(gained), uint64(to.Offset), math.Float64bits(rate-1)
	after = before + 2
	for i, v := range w {
		c.word(clocksSetting + 8*int(after>>1&1) + i).Store(v)
	}
	if rate != last.rate { // a jump changes only the wall clock
		c.settings = append(c.settings, setting{at, gained, rate})
	}
	return nil
}

// Shown returns the reading of the program's monotonic clock at a true time.
func (c *ProgramClocks) Shown(at int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(c.settings) {
		if at >= s.from {
			return s.shown(at)
		}
	}
	return at
}

// True returns the true time at which the program's monotonic clock showed, or will show, the
// given reading. For a reading in the future, the result changes with the next Set.
func (c *ProgramClocks) True(shown int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(c.settings) {
		if base := s.shown(s.from); shown >= base {
			return s.from + int64(math.Ceil(float64(shown-base)/s.rate))
		}
	}
	return shown
}

// Behind returns by how much the program's clocks have fallen behind true time in all settings
// with a rate below 1.
func (c *ProgramClocks) Behind() time.Duration {
	at, err := readClock(skewedClocks[0])
	if err != nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	behind := 0.0
	for i, s := range c.settings {
		to := at
		if i+1 < len(c.settings) {
			to = c.settings[i+1].from
		}
		if s.rate < 1 {
			behind += float64(to-s.from) * (1 - s.rate)
		}
	}
	return time.Duration(behind)
}

// Close ends the use of the clocks, after the program has ended.
func (c *ProgramClocks) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.mem != nil {
		err = syscall.Munmap(c.mem)
		c.mem = nil
	}
	return errors.Join(err, c.remove())
}
