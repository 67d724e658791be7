package process

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"lockpick/cluster"
)

// file is the state of a file that matters for a power cut.
type file struct {
	path  string
	size  int64
	birth uint64
	dir   bool
}

// files lists everything below a directory, by inode.
func files(dir string) (map[uint64]file, []uint64, error) {
	all, order := map[uint64]file{}, []uint64(nil)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ino, f, err := inode(path)
		if err != nil {
			return err
		}
		if _, ok := all[ino]; !ok {
			order = append(order, ino)
		}
		all[ino] = f
		return nil
	})
	return all, order, err
}

// cut removes from a data directory what a power cut would have removed. The server must have
// ended. The remaining data is durable: a second cut removes nothing.
//
// It assumes that files grow at their end, as those of Redis do.
func (p *sharedMemory) cut(data string, power cluster.Power) (cluster.Cut, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.word(wordLost).Load() > 0 {
		return cluster.Cut{}, fmt.Errorf("the fault shim's log of fsyncs is not complete: the server fsynced more than %d files", slots)
	}
	before, _, err := files(data)
	if err != nil {
		return cluster.Cut{}, err
	}
	var cut cluster.Cut
	if cut.Names, err = p.undo(data, power.Strict); err != nil {
		return cut, err
	}
	known := p.slots()
	after, order, err := files(data)
	if err != nil {
		return cut, err
	}
	var left []slot
	random := rand.New(rand.NewPCG(power.Seed, 0))
	for _, ino := range order {
		f := after[ino]
		if f.dir {
			continue
		}
		keep := int64(0)
		if s, ok := known[ino]; ok && s.birth == f.birth {
			keep = int64(s.value)
		}
		if power.Torn && f.size > keep {
			keep += random.Int64N(f.size - keep + 1)
		}
		if f.size > keep {
			if err := os.Truncate(f.path, keep); err != nil {
				return cut, err
			}
			f.size = keep
			after[ino] = f
		}
		left = append(left, slot{ino, uint64(f.size), f.birth})
	}
	for ino, f := range before {
		if lost := f.size - after[ino].size; !f.dir && lost > 0 {
			cut.Files++
			cut.Bytes += lost
		}
	}
	return cut, p.restart(left)
}

// undo reverts the changes of names that are not durable, the last one first.
func (p *sharedMemory) undo(data string, strict bool) (int, error) {
	known := p.slots()
	all := p.changes()
	committed, stored := p.word(wordCommitted).Load(), p.word(wordKept).Load()
	first := 0
	for i, c := range all {
		if c.kept > 0 && c.kept+keptFiles <= stored {
			first = i + 1 // too old to be reverted, and so are the changes before it
		}
	}
	undone := 0
	for i := len(all) - 1; i >= first; i-- {
		c := all[i]
		from := filepath.Join(data, c.from)
		given := from
		if c.op == 'R' {
			given = filepath.Join(data, c.to)
		}
		durable := c.number < committed
		if strict {
			ino, f, err := inode(filepath.Dir(given))
			s, ok := known[ino]
			durable = err == nil && ok && s.birth == f.birth && c.number < s.value
		}
		if durable {
			continue
		}
		did, err := p.revert(c, from, given)
		if err != nil {
			return undone, fmt.Errorf("undo a change of a name: %w", err)
		}
		if did {
			undone++
		}
	}
	return undone, nil
}

// revert reverts a change of a name if it was made: the server may have been killed before
// it.
func (p *sharedMemory) revert(c change, from, given string) (bool, error) {
	ino, _, err := inode(given)
	there := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if c.op == 'U' {
		if there || c.kept == 0 {
			return false, nil
		}
		return true, os.Link(p.keptFile(c.kept), from)
	}
	if !there || ino != c.ino {
		return false, nil
	}
	switch c.op {
	case 'C':
		return true, os.Remove(given)
	case 'M':
		return true, os.RemoveAll(given)
	}
	if err := os.Rename(given, from); err != nil {
		return false, err
	}
	if c.kept == 0 {
		return true, nil
	}
	return true, os.Link(p.keptFile(c.kept), given)
}

func (p *sharedMemory) keptFile(n uint64) string {
	return filepath.Join(p.dir, "kept", strconv.FormatUint(n%keptFiles, 10))
}

// restart begins a new log of fsyncs.
func (p *sharedMemory) restart(left []slot) error {
	for i := range uint64(keptFiles) {
		if err := os.Remove(p.keptFile(i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	clear(p.mem[recordsAt:])
	for _, w := range []int{wordOps, wordCommitted, wordKept, wordLost} {
		p.word(w).Store(0)
	}
	return p.setSlots(left)
}

// sweep removes the inodes that no longer exist, so that the log does not fill up over many
// starts. The caller holds p.mu, and no server runs.
func (p *sharedMemory) sweep(data string) error {
	known := p.slots()
	if len(known) < slots/4 {
		return nil
	}
	var left []slot
	for _, dir := range []string{data, filepath.Join(p.dir, "kept")} {
		found, _, err := files(dir)
		if err != nil {
			return fmt.Errorf("sweep the fault shim's log of fsyncs: %w", err)
		}
		for ino, f := range found {
			if s, ok := known[ino]; ok && s.birth == f.birth {
				left = append(left, s)
				delete(known, ino)
			}
		}
	}
	return p.setSlots(left)
}
