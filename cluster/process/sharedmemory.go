package process

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"lockpick/cluster"
)

// sharedMemory is the memory that a server's shim and the harness share, a mapped file
// beside the server's data. The harness writes settings, and the shim writes counts and the
// log of fsyncs. The shim sees a change at its next call, and neither side ever waits for
// the other.
//
// The log contains, for each inode that was fsynced, how many of its bytes are durable, and
// the last changes of names. Its size is fixed, however long a server runs.
type sharedMemory struct {
	dir string // contains the shared memory and the files that were unlinked last

	mu    sync.Mutex
	mem   []byte // nil after close
	clock cluster.Clock
	base  time.Time // the time at which clock was set
	disk  cluster.Disk
}

// This is the layout, as shim.c defines it: words, then slots, then records.
const (
	pageMagic = 0x4c6f636b7069636b // "Lockpick"

	slots      = 4096
	records    = 1024
	nameSize   = 240
	keptFiles  = 64
	slotSize   = 32
	recordSize = 32 + 2*nameSize
	slotsAt    = 4096
	recordsAt  = slotsAt + slots*slotSize
	pageSize   = recordsAt + records*recordSize

	wordMagic      = 0
	wordGeneration = 1
	wordHello      = 2 // process id of the server, when the shim works in it
	wordFailed     = 3 // the error number of a shim that does not work
	wordSeen       = 4 // the kinds of calls of the server that the shim has seen
	wordOps        = 5 // changes of names
	wordCommitted  = 6 // number of them that an fsync has committed
	wordKept       = 7 // number of files that were kept
	wordFsyncs     = 8
	wordDelayed    = 9
	wordLied       = 10
	wordRefused    = 11
	wordLost       = 12 // number of entries for which the log had no room
	wordSetting    = 16 // first word of two settings, 8 words each

	flagClock = 1
	flagLies  = 2
	flagFull  = 4

	sawClock = 1
)

// newSharedMemory makes the directory of shared memory, and the memory in it.
func newSharedMemory(dir string) (*sharedMemory, error) {
	if err := os.MkdirAll(filepath.Join(dir, "kept"), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the fault shim: %w", err)
	}
	name := filepath.Join(dir, "page")
	// Write the file, and do not only set its size: a hole that cannot be filled would
	// cause a SIGBUS.
	if err := os.WriteFile(name, make([]byte, pageSize), 0o644); err != nil {
		return nil, fmt.Errorf("make the memory that the fault shim shares: %w", err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the memory that the fault shim shares: %w", err)
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the memory that the fault shim shares: %w", err)
	}
	p := &sharedMemory{dir: dir, mem: mem}
	p.word(wordMagic).Store(pageMagic)
	return p, nil
}

// close ends this process's mapping; that of the server continues.
func (p *sharedMemory) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mem != nil {
		syscall.Munmap(p.mem)
		p.mem = nil
	}
}

func (p *sharedMemory) word(i int) *atomic.Uint64 { return p.at(8 * i) }

func (p *sharedMemory) at(offset int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&p.mem[offset]))
}

// prepare initializes the memory for a start of the server.
func (p *sharedMemory) prepare(data string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range []int{wordHello, wordFailed, wordSeen} {
		p.word(w).Store(0)
	}
	return p.sweep(data)
}

// proof reports whether the shim works in the server that answers, and if not, why.
func (p *sharedMemory) proof() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.word(wordFailed).Load(); e != 0 {
		return fmt.Errorf("the fault shim can not ask the kernel for a file's inode: statx: %w", syscall.Errno(e))
	}
	if p.word(wordHello).Load() == 0 {
		return fmt.Errorf("the server did not load the fault shim: it may be linked statically, be for another kind of processor, or lie with the shim where programs may not be run")
	}
	if p.word(wordSeen).Load()&sawClock == 0 {
		return fmt.Errorf("the server loaded the fault shim and reads the clock past it: it may have its own libc linked in")
	}
	return nil
}

// apply applies a setting: it writes the inactive one of the two settings, and then the
// generation, which makes that one active. The caller holds p.mu.
func (p *sharedMemory) apply() {
	var w [8]uint64
	if p.clock != (cluster.Clock{}) {
		w[0] |= flagClock
		w[1] = uint64(p.base.UnixNano())
		w[2] = uint64(p.clock.Offset)
		w[3] = math.Float64bits(p.clock.EffectiveRate() - 1)
	}
	if p.disk.FsyncLies {
		w[0] |= flagLies
	}
	if p.disk.Full {
		w[0] |= flagFull
	}
	w[4] = uint64(p.disk.FsyncDelay)
	g := p.word(wordGeneration).Load() + 1
	for i, v := range w {
		p.word(wordSetting + 8*int(g&1) + i).Store(v)
	}
	p.word(wordGeneration).Store(g)
}

func (p *sharedMemory) setClock(c cluster.Clock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock, p.base = c, time.Now()
	if p.mem != nil {
		p.apply()
	}
}

func (p *sharedMemory) setDisk(d cluster.Disk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disk = d
	if p.mem != nil {
		p.apply()
	}
}

// wall returns the reading of the server's clock at a true time.
func (p *sharedMemory) wall(t time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clock == (cluster.Clock{}) {
		return t
	}
	gain := float64(t.UnixNano()-p.base.UnixNano()) * (p.clock.EffectiveRate() - 1)
	return t.Add(p.clock.Offset + time.Duration(gain))
}

// counts returns the counts of the disk since the server was made.
func (p *sharedMemory) counts() cluster.DiskCounts {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mem == nil {
		return cluster.DiskCounts{}
	}
	n := func(i int) int64 { return int64(p.word(i).Load()) }
	return cluster.DiskCounts{Fsyncs: n(wordFsyncs), Delayed: n(wordDelayed), Lied: n(wordLied), Refused: n(wordRefused)}
}

// slot is an entry of the log about an inode.
type slot struct {
	ino   uint64
	value uint64 // of a file: its durable bytes; of a directory: the changes of names before its last fsync
	birth uint64 // time of birth of the inode, whose number may have been given to another file since
}

// slots returns the slots that are in use. The caller holds p.mu.
func (p *sharedMemory) slots() map[uint64]slot {
	all := map[uint64]slot{}
	for i := range slots {
		at := slotsAt + i*slotSize
		if ino := p.at(at).Load(); ino != 0 {
			all[ino] = slot{ino, p.at(at + 8).Load(), p.at(at + 16).Load()}
		}
	}
	return all
}

// setSlots replaces all slots, while no server runs. The caller holds p.mu.
func (p *sharedMemory) setSlots(all []slot) error {
	if len(all) > slots {
		return fmt.Errorf("the fault shim's log of fsyncs has room for %d files, and there are %d", slots, len(all))
	}
	clear(p.mem[slotsAt:recordsAt])
	for _, s := range all {
		i := s.ino * 0x9E3779B97F4A7C15 >> 40
		for ; p.at(slotsAt+int(i%slots)*slotSize).Load() != 0; i++ {
		}
		at := slotsAt + int(i%slots)*slotSize
		p.at(at).Store(s.ino)
		p.at(at + 8).Store(s.value)
		p.at(at + 16).Store(s.birth)
	}
	return nil
}

// change is an entry of the log about a change of a name.
type change struct {
	number   uint64 // from 0
	op       byte   // C created, R renamed, U unlinked, M made a directory
	ino      uint64 // the inode that got the name or lost it
	kept     uint64 // number under which the file that lost its name is kept; 0: none
	from, to string // relative to the data directory
}

// changes returns the last changes in order. It leaves out a change during which the server
// was killed. The caller holds p.mu.
func (p *sharedMemory) changes() []change {
	ops := p.word(wordOps).Load()
	var all []change
	for n := ops - min(ops, records); n < ops; n++ {
		at := recordsAt + int(n%records)*recordSize
		if p.at(at).Load() != n+1 {
			continue
		}
		text := func(from int) string {
			b := p.mem[from : from+nameSize]
			for i, c := range b {
				if c == 0 {
					return string(b[:i])
				}
			}
			return string(b)
		}
		all = append(all, change{
			number: n, op: byte(p.at(at + 8).Load()), ino: p.at(at + 16).Load(), kept: p.at(at + 24).Load(),
			from: text(at + 32), to: text(at + 32 + nameSize),
		})
	}
	return all
}
