package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
)

// ParseClock parses a clock fault:
//
//	+60s    it jumps forward
//	-60s    it jumps back
//	x1.5    it runs at that rate
//	~5s     it strobes: forward and back again, many times
//
// A client has two clocks. A jump or a strobe changes only its wall clock; a rate changes
// both.
func ParseClock(s string) (c cluster.Clock, strobe bool, err error) {
	bad := fmt.Errorf("%q is not a fault of a clock: write +60s (a jump forward), -60s (back), x1.5 (its rate) or ~5s (a strobe)", s)
	if len(s) < 2 {
		return c, false, bad
	}
	if s[0] == 'x' {
		c.Rate, err = strconv.ParseFloat(s[1:], 64)
		if err != nil || !(c.Rate > 0 && c.Rate <= 1000) {
			return c, false, bad
		}
		return c, false, nil
	}
	d, err := time.ParseDuration(s[1:])
	if err != nil || d <= 0 {
		return c, false, bad
	}
	switch s[0] {
	case '+':
		c.Offset = d
	case '-':
		c.Offset = -d
	case '~':
		c.Offset, strobe = d, true
	default:
		return c, false, bad
	}
	return c, strobe, nil
}

// parseClock parses a clock fault, and records it as parameters of the fault: the setting as it was
// written, and separately the rate, the offset or the amount of strobing.
func (f *injection) parseClock(text string) (c cluster.Clock, strobe bool) {
	f.params["clock"] = text
	c, strobe, _ = ParseClock(text)
	switch {
	case strobe:
		f.params["strobe"] = c.Offset.String()
	case c.Rate != 0:
		f.params["rate"] = strconv.FormatFloat(c.Rate, 'g', -1, 64)
	case c.Offset > 0:
		f.params["offset"] = "+" + c.Offset.String()
	default:
		f.params["offset"] = c.Offset.String()
	}
	return c, strobe
}

// machines lets faults of the machines of masters overlap: a disk has the sum of its faults.
type machines struct {
	mu    sync.Mutex
	disks map[cluster.Master]map[int]cluster.Disk // by the injection's id
	full  map[cluster.Master]bool                 // masters to drain as soon as they run
}

// setDisk adds the disk fault of an injection, or removes it if it is the zero value.
func (x *machines) setDisk(ctx context.Context, m cluster.Master, id int, d cluster.Disk) error {
	x.mu.Lock()
	if x.disks[m] == nil {
		x.disks[m] = map[int]cluster.Disk{}
	}
	if x.disks[m][id] = d; d == (cluster.Disk{}) {
		delete(x.disks[m], id)
	}
	x.mu.Unlock()
	for {
		// Another fault may be installed or healed while this one is being set, so repeat the
		// call until it has set the current sum.
		sum := x.sum(m)
		if err := m.SetDisk(ctx, sum); err != nil || sum == x.sum(m) {
			return err
		}
	}
}

func (x *machines) sum(m cluster.Master) cluster.Disk {
	x.mu.Lock()
	defer x.mu.Unlock()
	var sum cluster.Disk
	for _, d := range x.disks[m] {
		sum.FsyncDelay += d.FsyncDelay
		sum.FsyncLies = sum.FsyncLies || d.FsyncLies
		sum.Full = sum.Full || d.Full
	}
	return sum
}

// snapshots reads the keys of masters. It leaves out masters that do not answer.
func (n *Nemesis) snapshots(ctx context.Context, masters []cluster.Master) map[string]cluster.Snapshot {
	var mu sync.Mutex
	found := map[string]cluster.Snapshot{}
	_ = n.each(masters, func(m cluster.Master) error {
		looking, cancel := n.within(ctx, lookRunning)
		defer cancel()
		look, err := m.Inspect(looking, n.keys())
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			found[m.Name()] = look
		}
		return nil
	})
	return found
}

// lost describes the keys that masters stored before and no longer store.
func lost(before, after map[string]cluster.Snapshot) string {
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(before)) {
		var keys []string
		for key, token := range before[m].Keys {
			if now, ok := after[m]; ok && now.Keys[key] != token {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			parts = append(parts, fmt.Sprintf("%s lost %s", m, strings.Join(keys, " ")))
		}
	}
	if len(parts) == 0 {
		return "no lock was lost at once"
	}
	return strings.Join(parts, "; ")
}

// newClock sets the wall clocks of masters wrong.
func newClock(n *Nemesis, f *injection) effect {
	c, strobe := f.parseClock(f.step.Clock)
	return &clock{n: n, f: f, clock: c, strobe: strobe}
}

type clock struct {
	n      *Nemesis
	f      *injection
	clock  cluster.Clock
	strobe bool
	showed []string // masters whose TIME showed the setting
	lost   string
	stop   context.CancelCauseFunc
}

// Clocks lists the changes of clocks so far (see ParseClock).
func (n *Nemesis) Clocks() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.clocks)
}

// strobeEvery is how long a strobing clock shows each of its two times.
const strobeEvery = 100 * time.Millisecond

func (c *clock) install(ctx context.Context) error {
	c.n.mu.Lock()
	c.n.clocks = append(c.n.clocks, c.f.step.Clock)
	c.n.mu.Unlock()
	before := c.n.snapshots(ctx, c.f.masters)
	var mu sync.Mutex
	err := c.n.each(c.f.masters, func(m cluster.Master) error {
		err := m.SetClock(ctx, c.clock)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			c.showed = append(c.showed, m.Name())
		}
		return err
	})
	slices.Sort(c.showed)
	c.lost = lost(before, c.n.snapshots(ctx, c.f.masters))
	if err != nil {
		return err
	}
	if c.strobe {
		var strobing context.Context
		strobing, c.stop = c.n.env.Runtime.WithCancelCause(ctx)
		c.n.spawn(func() {
			c.n.strobe(strobing, c.clock, func(to cluster.Clock) {
				_ = c.n.each(c.f.masters, func(m cluster.Master) error { return m.SetClock(strobing, to) })
			})
		})
	}
	return nil
}

// strobe sets clocks right and wrong in turn until ctx ends.
func (n *Nemesis) strobe(ctx context.Context, wrong cluster.Clock, set func(cluster.Clock)) {
	for now := (cluster.Clock{}); n.env.Runtime.Sleep(ctx, strobeEvery) == nil; {
		set(now)
		if now == (cluster.Clock{}) {
			now = wrong
		} else {
			now = cluster.Clock{}
		}
	}
}

func (c *clock) heal(ctx context.Context) (proof, string, error) {
	if c.stop != nil {
		c.stop(errStruck)
	}
	if c.clock.Offset < 0 && c.f.run.Err() != nil {
		// The run must end. Correcting the clock would be a jump forward, which would end the
		// keys of leases that clients still hold. So wait until these leases have ended.
		_ = c.n.env.Runtime.Sleep(ctx, c.n.env.TTL)
	}
	err := c.n.each(c.f.masters, func(m cluster.Master) error { return m.SetClock(ctx, cluster.Clock{}) })
	// SetClock has verified that the masters' TIME shows the setting.
	return proven, fmt.Sprintf("TIME showed %s on %s; %s", c.f.step.Clock, strings.Join(c.showed, " "), c.lost), err
}

// newPowerCut cuts the power of masters and starts them again.
func newPowerCut(n *Nemesis, f *injection) effect {
	r := &restart{n: n, f: f}
	var mu sync.Mutex
	var total cluster.Cut
	r.stop = func(ctx context.Context, m cluster.Master) error {
		cut, err := m.CutPower(ctx, cluster.Power{Strict: f.step.Strict, Torn: f.step.Torn, Seed: n.env.Seed + uint64(f.id)})
		mu.Lock()
		defer mu.Unlock()
		total.Files, total.Bytes, total.Names = total.Files+cut.Files, total.Bytes+cut.Bytes, total.Names+cut.Names
		f.params["cut"] = fmt.Sprintf("%d bytes of %d files, %d names", total.Bytes, total.Files, total.Names)
		return err
	}
	return r
}

// newSlowFsync makes each fsync of masters take longer.
func newSlowFsync(n *Nemesis, f *injection) effect {
	delay := f.step.Delay
	if delay == 0 {
		delay = time.Second
	}
	f.params["delay"] = delay.String()
	return &disk{n: n, f: f, disk: cluster.Disk{FsyncDelay: delay}, what: "fsyncs delayed", count: func(c cluster.DiskCounts) int64 { return c.Delayed }}
}

// newLyingFsync makes the fsyncs of masters report success without doing anything.
func newLyingFsync(n *Nemesis, f *injection) effect {
	return &disk{n: n, f: f, disk: cluster.Disk{FsyncLies: true}, what: "fsyncs that did nothing", count: func(c cluster.DiskCounts) int64 { return c.Lied }}
}

// newFullDisk makes the writes of masters fail.
func newFullDisk(n *Nemesis, f *injection) effect {
	return &disk{n: n, f: f, disk: cluster.Disk{Full: true}, what: "writes refused", count: func(c cluster.DiskCounts) int64 { return c.Refused }}
}

type disk struct {
	n      *Nemesis
	f      *injection
	disk   cluster.Disk
	what   string
	count  func(cluster.DiskCounts) int64
	before map[string]cluster.Snapshot
}

func (d *disk) install(ctx context.Context) error {
	d.before = d.n.snapshots(ctx, d.f.masters)
	err := d.n.each(d.f.masters, func(m cluster.Master) error { return d.n.machines.setDisk(ctx, m, d.f.id, d.disk) })
	return err
}

func (d *disk) heal(ctx context.Context) (proof, string, error) {
	after := d.n.snapshots(ctx, d.f.masters)
	n, ended := int64(0), []string{}
	for name, look := range after {
		n += d.count(look.Disk) - d.count(d.before[name].Disk)
	}
	err := d.n.each(d.f.masters, func(m cluster.Master) error { return d.n.machines.setDisk(ctx, m, d.f.id, cluster.Disk{}) })
	for _, m := range d.f.masters {
		// Redis ends if it cannot write with fsync=always. No other code starts it then,
		// unless another fault was about to kill it anyway.
		if d.disk.Full && m.State() == cluster.Down && !d.n.restarting(m) {
			ended = append(ended, m.Name()+" ended by itself")
			d.n.recordState(m, nil)
			err = errors.Join(err, m.Start(ctx))
			d.n.recordState(m, nil)
		}
	}
	p := refuted
	if n > 0 || len(ended) > 0 {
		p = proven
	}
	return p, strings.Join(append([]string{fmt.Sprintf("%s: %d", d.what, n)}, ended...), "; "), err
}

// restarting reports whether another fault will start the master.
func (n *Nemesis) restarting(m cluster.Master) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.active {
		if f.kind.EndsMaster() && slices.Contains(f.masters, m) {
			return true
		}
	}
	return false
}

// newMemory fills the memory of masters, so that they evict keys or refuse writes.
func newMemory(n *Nemesis, f *injection) effect { return &memory{n: n, f: f} }

type memory struct {
	n       *Nemesis
	f       *injection
	evicted int64
	refused int // number of lock commands that masters refused for lack of memory, at the beginning
	lost    string
}

func (x *memory) install(ctx context.Context) error {
	before := x.n.snapshots(ctx, x.f.masters)
	x.refused = x.n.watch.refusals(x.f.masterNames())
	err := x.n.each(x.f.masters, func(m cluster.Master) error { return m.FillMemory(ctx, x.n.env.Fill) })
	after := x.n.snapshots(ctx, x.f.masters)
	for name, look := range after {
		x.evicted += look.Evicted - before[name].Evicted
	}
	x.lost = lost(before, after)
	if err != nil && x.evicted > 0 { // also if a master ended while it was filled
		return halfDone{err}
	}
	return err
}

// fill marks masters to be drained.
func (x *machines) fill(masters []cluster.Master) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range masters {
		x.full[m] = true
	}
}

// drain removes the keys of the fault memory from masters. On masters that do not run now, it
// leaves the keys: they are removed when the fault that has stopped the masters heals.
func (n *Nemesis) drain(ctx context.Context, masters []cluster.Master) error {
	n.machines.mu.Lock()
	full := slices.DeleteFunc(slices.Clone(masters), func(m cluster.Master) bool { return !n.full[m] })
	n.machines.mu.Unlock()
	return n.each(full, func(m cluster.Master) error {
		if m.State() != cluster.Up {
			return nil
		}
		if err := m.DrainMemory(ctx); err != nil {
			if m.State() != cluster.Up { // the master was stopped just now
				return nil
			}
			return err
		}
		n.machines.mu.Lock()
		defer n.machines.mu.Unlock()
		delete(n.full, m)
		return nil
	})
}

func (x *memory) heal(ctx context.Context) (proof, string, error) {
	x.n.fill(x.f.masters)
	err := x.n.drain(ctx, x.f.masters)
	if refused := x.n.watch.refusals(x.f.masterNames()) - x.refused; refused > 0 {
		return proven, fmt.Sprintf("%d keys evicted, %d lock commands refused; %s", x.evicted, refused, x.lost), err
	}
	p := refuted
	if x.evicted > 0 {
		p = proven
	}
	return p, fmt.Sprintf("%d keys evicted; %s", x.evicted, x.lost), err
}

func init() {
	implement("powercut", implementation{new: newPowerCut})
	implement("clock", implementation{new: newClock, shape: func(n *Nemesis, plan Plan, s *Step) {
		if s.Clock = plan.Clock; s.Clock == "" {
			s.Clock = n.drawClock()
		}
	}})
	implement("slow-fsync", implementation{new: newSlowFsync, shape: func(_ *Nemesis, plan Plan, s *Step) { s.Delay = plan.Delay }})
	implement("lying-fsync", implementation{new: newLyingFsync})
	implement("full-disk", implementation{new: newFullDisk})
	implement("memory", implementation{new: newMemory})
}
