package sim

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// disk holds the data of a master in three stages of durability:
//
//	base ──────────────► log[:written] ──────────────► log[written:]
//	fsynced: survives     written: survives a kill,     in the server's memory:
//	a power cut           not a power cut               survives neither
//
// A master without persistence writes nothing. A master with snapshots has a base and no log.
type disk struct {
	m       *Master
	kind    cluster.Persistence
	appends bool // kind has an append-only file
	fault   cluster.Disk
	broken  bool // a write has failed: the server refuses further writes

	counts  cluster.DiskCounts
	base    map[string]keyspace.Value
	log     []change // the append-only file
	written int
	tidied  int // number of changes in the log after its last tidy

	event    world.Event // the next fsync or snapshot, or its end
	syncing  bool        // an fsync or a snapshot is in progress
	upTo     int         // the position in log up to which the fsync works
	snapshot map[string]keyspace.Value
	last     int64 // s on the master's clock: the last fsync or snapshot
	dirty    int   // number of changes since the last snapshot
	seen     int   // number of these changes when the snapshot in progress began
	put      int64 // s on the master's clock since when a write is delayed; 0: none is delayed
}

// change is one entry of an append-only file.
type change struct {
	key  string
	v    keyspace.Value
	gone bool

	first bool // it is the first change of a step
}

// snapshots are the save points of Redis's default configuration: a number of seconds, and the
// number of changed keys that triggers a snapshot after them.
var snapshots = []struct {
	seconds int64
	changes int
}{{3600, 1}, {300, 100}, {60, 10000}}

// snapshotTime is the duration of a small snapshot.
const snapshotTime = 10 * time.Millisecond

func (d *disk) init(m *Master, kind cluster.Persistence) {
	d.m, d.kind, d.base = m, kind, map[string]keyspace.Value{}
	d.event.Do = d
	d.appends = kind == cluster.Everysec || kind == cluster.Always
}

const second = int64(time.Second)

// unix returns the master's wall clock in seconds.
func (d *disk) unix() int64 { return d.m.wall.Read(d.m.world.Now()) / second }

func (d *disk) fsyncTime() time.Duration { return d.m.cluster.options.Fsync + d.fault.FsyncDelay }

// note records a change.
func (d *disk) note(c change) {
	switch {
	case d.appends:
		d.log = append(d.log, c)
	case d.kind == cluster.RDB:
		d.dirty++
		for _, s := range snapshots {
			if d.dirty == s.changes {
				d.plan()
			}
		}
	}
}

// flush writes the changes of a command, before its reply is sent, and returns how long the
// server must wait for the disk.
func (d *disk) flush() time.Duration {
	if !d.appends || d.written == len(d.log) {
		return 0
	}
	if d.fault.Full {
		d.broken = true
		d.counts.Refused++
		if d.kind == cluster.Always { // the server cannot undo the command
			d.m.die()
			d.crash()
		}
		return 0
	}
	if d.kind == cluster.Always {
		d.written = len(d.log)
		d.sync(len(d.log))
		return d.fsyncTime()
	}
	if d.syncing {
		// An fsync in the background would block a write, so Redis delays the write for up to
		// two seconds.
		now := d.unix()
		if d.put == 0 {
			d.put = now
		}
		if now-d.put < 2 {
			return 0
		}
	}
	d.put, d.written = 0, len(d.log)
	d.plan()
	return 0
}

// sync has the effect of an fsync.
func (d *disk) sync(upTo int) {
	d.fsynced()
	if d.fault.FsyncLies {
		d.tidy()
		return
	}
	for _, c := range d.log[:upTo] {
		apply(d.base, c)
	}
	rest := copy(d.log, d.log[upTo:])
	clear(d.log[rest:])
	d.log, d.written, d.tidied = d.log[:rest], d.written-upTo, 0
}

// fsynced counts an fsync.
func (d *disk) fsynced() {
	d.counts.Fsyncs++
	if d.fault.FsyncDelay > 0 {
		d.counts.Delayed++
	}
	if d.fault.FsyncLies {
		d.counts.Lied++
	}
}

func apply(keys map[string]keyspace.Value, c change) {
	if c.gone {
		delete(keys, c.key)
	} else {
		keys[c.key] = c.v
	}
}

// tidy prevents a log that is never fsynced from growing forever: the older half of its steps
// becomes one, which has only the last change of each key.
func (d *disk) tidy() {
	if len(d.log) < 4096 || len(d.log) < 2*d.tidied || d.written < len(d.log) {
		return
	}
	half := len(d.log) / 2
	for half < len(d.log) && !d.log[half].first {
		half++
	}
	last := map[string]int{}
	for i, c := range d.log[:half] {
		last[c.key] = i
	}
	written := d.log[:0]
	for i, c := range d.log {
		if i < half {
			if last[c.key] != i {
				continue
			}
			c.first = len(written) == 0
		}
		written = append(written, c)
	}
	clear(d.log[len(written):])
	d.log, d.written, d.tidied = written, len(written), len(written)
}

// plan schedules the next fsync or snapshot by the current setting of the master's clock.
func (d *disk) plan() {
	if d.syncing || d.m.state != cluster.Up {
		return
	}
	due := int64(math.MaxInt64) // on the master's clock
	switch d.kind {
	case cluster.Everysec:
		if len(d.log) > 0 {
			due = (d.last + 1) * second
		}
	case cluster.RDB:
		for _, s := range snapshots {
			if d.dirty >= s.changes {
				due = min(due, (d.last+s.seconds+1)*second)
			}
		}
	}
	if due == math.MaxInt64 {
		d.m.world.Cancel(&d.event)
		return
	}
	at := d.m.world.Now()
	if d.m.wall.Read(at) < due {
		at = d.m.wall.When(due)
	}
	if at == math.MaxInt64 {
		d.m.world.Cancel(&d.event)
		return
	}
	d.m.world.At(at, &d.event)
}

// Fire begins or ends an fsync or a snapshot.
func (d *disk) Fire() {
	if d.m.state != cluster.Up && !d.syncing {
		return // Resume plans the next one
	}
	if d.syncing {
		d.syncing = false
		d.complete()
		d.plan()
		return
	}
	d.syncing = true
	d.last = d.unix()
	took := d.fsyncTime()
	if d.kind == cluster.RDB {
		d.snapshot, d.seen = d.m.store.All(), d.dirty
		took += snapshotTime
	} else {
		if !d.fault.Full {
			d.written, d.put = len(d.log), 0
		}
		d.upTo = d.written
	}
	d.m.world.After(took, &d.event)
}

// complete has the effect of an fsync or a snapshot.
func (d *disk) complete() {
	if d.kind == cluster.RDB {
		if !d.fault.Full {
			d.dirty -= d.seen
			d.fsynced()
			if !d.fault.FsyncLies {
				d.base, d.log, d.written = d.snapshot, nil, 0
			} else {
				d.whole(d.snapshot)
			}
		}
		d.snapshot = nil
		return
	}
	d.sync(d.upTo)
	if !d.fault.Full {
		d.written, d.put = len(d.log), 0
	}
}

// whole puts a snapshot into the log, as written but not fsynced.
func (d *disk) whole(keys map[string]keyspace.Value) {
	d.log = d.log[:0]
	for _, key := range slices.Sorted(maps.Keys(d.base)) {
		if _, remains := keys[key]; !remains {
			d.log = append(d.log, change{key: key, gone: true})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d.log = append(d.log, change{key: key, v: keys[key]})
	}
	for i := range d.log {
		d.log[i].first = i == 0
	}
	d.written = len(d.log)
}

// set changes the fault of the disk.
func (d *disk) set(f cluster.Disk) {
	d.fault = f
	if !f.Full && d.broken {
		d.broken = false
		d.written = len(d.log)
		d.plan()
	}
}

// halt is called when the server ends: the disk writes nothing more.
func (d *disk) halt() {
	d.m.world.Cancel(&d.event)
	d.syncing, d.snapshot, d.broken, d.put, d.dirty = false, nil, false, 0, 0
}

// crash loses the changes that the server had not written.
func (d *disk) crash() {
	clear(d.log[d.written:])
	d.log = d.log[:d.written]
}

// save has the effect of SIGTERM.
func (d *disk) save() error {
	switch {
	case d.kind == cluster.None:
	case d.fault.Full:
		return errors.New("it still runs after SIGTERM: it fails to save its data, for no space is left on its disk")
	case d.kind == cluster.RDB:
		d.fsynced()
		if d.fault.FsyncLies {
			d.whole(d.m.store.All())
		} else {
			d.base, d.log, d.written = d.m.store.All(), nil, 0
		}
	default:
		d.written = len(d.log)
		d.sync(len(d.log))
	}
	return nil
}

// load returns the keys with which a server starts.
func (d *disk) load() map[string]keyspace.Value {
	d.last = d.unix()
	d.put = 0
	keys := map[string]keyspace.Value{}
	if d.kind == cluster.None {
		return keys
	}
	for key, v := range d.base {
		keys[key] = v
	}
	for _, c := range d.log[:d.written] {
		apply(keys, c)
	}
	if d.kind == cluster.RDB { // expired keys of an append-only file are loaded, and expire when they are accessed
		now := floor(d.m.wall.Read(d.m.world.Now()))
		for key, v := range keys {
			if v.Expires < now {
				delete(keys, key)
			}
		}
	}
	return keys
}

// replace makes the disk that of a replica with these keys.
func (d *disk) replace(keys map[string]keyspace.Value) {
	d.log, d.written = nil, 0
	if d.kind != cluster.None {
		d.base = cloneKeys(keys)
	}
}

// cut has the effect of a power cut.
func (d *disk) cut(p cluster.Power) cluster.Cut {
	var cut cluster.Cut
	keep := 0
	if p.Torn && len(d.log) > 0 && !p.Strict {
		keep = d.tear()
	}
	for _, c := range d.log[keep:] {
		cut.Bytes += c.v.Size(c.key)
	}
	for _, c := range d.log[:keep] {
		apply(d.base, c)
	}
	if cut.Bytes > 0 {
		cut.Files = 1
	}
	d.log, d.written = nil, 0
	if p.Strict && d.appends {
		// Redis never fsyncs the parent of its appendonlydir: the folder, the manifest and two
		// files are lost.
		if len(d.base) > 0 || cut.Bytes > 0 {
			cut.Names = 4
		}
		d.base = map[string]keyspace.Value{}
	}
	return cut
}

// tear draws how many changes that were not fsynced survive. A step survives as a whole or not at
// all: Redis drops a transaction at the end of a file that is not complete.
func (d *disk) tear() int {
	var ends []int // positions in log at which a step begins, or the log ends
	for i := range d.log {
		if d.log[i].first || i == 0 {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(d.log))
	return ends[d.m.world.Intn(len(ends), world.WhatTorn)]
}

// String counts the changes at each stage, for debugging.
func (d *disk) String() string {
	return fmt.Sprintf("%d keys fsynced, %d changes written, %d not", len(d.base), d.written, len(d.log)-d.written)
}
