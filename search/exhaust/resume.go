package exhaust

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"io"
	"time"

	"lockpick/search"
)

// checkpoint encodes a search between two batches of runs, so that the part of a shard can store it. A
// resumed search makes the same runs as one that was never interrupted.
type checkpoint struct {
	States     []state // in the order of the visits
	First      []uint32
	Targets    []target
	Violations []violation
	Paths      [][]uint8 // Open refers to prefixes of these
	Open       []openChoice
	Serial     int
	Runs       int
	Steps      int64
	Shared     *division
	Best       *Found
	Early      *Found
	Spent      time.Duration
}

// openChoice is a pendingPath whose path is an index of checkpoint.Paths.
type openChoice struct {
	Path, Depth    int
	Choice, Faults uint8
	Instant        int64
	Serial         int
	Slot           uint32
}

// checkpoint encodes the search.
func (s *searcher) checkpoint() ([]byte, error) {
	c := checkpoint{
		States: make([]state, len(s.first)), First: s.first, Targets: s.targets, Violations: s.violations, Serial: s.serial, Runs: s.runs, Steps: s.steps,
		Shared: s.shared, Best: s.best, Early: s.early, Spent: s.spent + time.Since(s.began),
	}
	for state, i := range s.index {
		c.States[i] = state
	}
	number := map[*uint8]int{} // choices of one run share its path
	for _, p := range s.open {
		i := len(c.Paths)
		if len(p.path) > 0 {
			known, again := number[&p.path[0]]
			if again {
				i = known
			} else {
				number[&p.path[0]] = i
			}
		}
		if i == len(c.Paths) {
			c.Paths = append(c.Paths, p.path)
		}
		c.Open = append(c.Open, openChoice{i, p.depth, p.choice, p.faults, p.instant, p.serial, p.slot})
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		err = gob.NewEncoder(z).Encode(&c)
	}
	if err == nil {
		err = z.Close()
	}
	return b.Bytes(), err
}

// resume restores a search that checkpoint encoded. If encoded is empty, the search starts from the
// beginning.
func (s *searcher) resume(encoded []byte) error {
	if len(encoded) == 0 {
		return nil
	}
	var c checkpoint
	z, err := gzip.NewReader(bytes.NewReader(encoded))
	if err == nil {
		err = gob.NewDecoder(z).Decode(&c)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, z) // reads the checksum
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return fmt.Errorf("%w: the search in it cannot be resumed: %w", search.ErrParts, err)
	}
	s.graph = graph{index: make(map[state]uint32, len(c.States)), first: c.First, targets: c.Targets, violations: c.Violations}
	for i, state := range c.States {
		s.index[state] = uint32(i)
	}
	s.open = nil
	for _, p := range c.Open {
		s.open = append(s.open, pendingPath{c.Paths[p.Path], p.Depth, p.Choice, p.Faults, p.Instant, p.Serial, p.Slot})
	}
	s.serial, s.runs, s.steps, s.shared, s.best, s.early, s.spent = c.Serial, c.Runs, c.Steps, c.Shared, c.Best, c.Early, c.Spent
	return nil
}

// check returns an error if the parts of the checkpoint contradict each other.
func (c *checkpoint) check() error {
	if len(c.States) != len(c.First) || len(c.Targets) == 0 {
		return fmt.Errorf("it has %d states and the choices of %d", len(c.States), len(c.First))
	}
	slot := func(i uint32) bool { return int(i) < len(c.Targets) }
	for _, i := range c.First {
		if !slot(i) {
			return fmt.Errorf("there is no choice %d", i)
		}
	}
	for _, t := range c.Targets {
		if known := len(c.First) + 1; t&isViolation == 0 && int(t) >= known || t&isViolation != 0 && int(t&^isViolation) >= len(c.Violations) {
			return fmt.Errorf("there is no state %d", t)
		}
	}
	for _, p := range c.Open {
		if p.Path < 0 || p.Path >= len(c.Paths) || p.Depth < 0 || p.Depth > len(c.Paths[p.Path]) || !slot(p.Slot) {
			return fmt.Errorf("there is no path %d of %d choices", p.Path, p.Depth)
		}
	}
	if c.Shared != nil {
		for _, p := range c.Shared.Prefixes {
			if !slot(p.Slot) {
				return fmt.Errorf("there is no choice %d", p.Slot)
			}
		}
	}
	return nil
}
