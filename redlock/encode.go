package redlock

import (
	"slices"
	"time"
)

// batch is what leaves in one write, put in the order in which it leaves. Releases that
// leave together share a script, which is cheaper for the master and for us. So they
// are taken out of the order in which they were asked: to the front, unless something
// about the same key was asked before, and then to the back, unless something about
// that key was asked after them. A release never comes before its own SET, nor behind
// the SET of whoever has the key next. A script has each key once.
type batch struct {
	front, back []*order // releases
	ones        []*order // all else
	// The keys of each.
	frontHas, onesHave, backHas keys

	waits []*order
	spare [][]*order // emptied, to be used again
}

// keys is a set of keys, by their hashes: all of them, and a bit for each, which tells of most
// others that they are not among them.
type keys struct {
	hashes []uint64
	bits   [64]uint64
}

func (k *keys) add(hash uint64) {
	k.hashes = append(k.hashes, hash)
	k.bits[hash>>58] |= 1 << (hash >> 52 & 63)
}

func (k *keys) has(hash uint64) bool {
	return k.bits[hash>>58]&(1<<(hash>>52&63)) != 0 && slices.Contains(k.hashes, hash)
}

func (k *keys) clear() { k.hashes, k.bits = k.hashes[:0], [64]uint64{} }

// batchMost is how many commands are put in order together at most: it bounds the search
// for a key.
const batchMost = 256

// encode turns what is pending into bytes and into the replies to come.
func (p *pipe) encode() {
	b := &p.batch
	for i, o := range p.pending {
		p.pending[i] = nil
		if (i+1)%batchMost == 0 {
			p.encodeBatch()
		}
		if o.state == voted && !o.late {
			continue // nobody waits, and it has never left: it never will
		}
		if o.state == queued {
			o.state = sent
		}
		if o.q.cmd.Kind != Release {
			o.q.talk.with[o.master].on = p
		}
		key := o.q.hash
		if b.backHas.has(key) {
			p.encodeBatch()
		}
		switch {
		case !p.shares(o):
			b.ones = append(b.ones, o)
			b.onesHave.add(key)
			if o.q.cmd.Wait > 0 {
				b.waits = append(b.waits, o)
			}
		case b.onesHave.has(key), b.frontHas.has(key):
			b.back = append(b.back, o)
			b.backHas.add(key)
		default:
			b.front = append(b.front, o)
			b.frontHas.add(key)
		}
	}
	p.pending = p.pending[:0]
	p.encodeBatch()
	if len(b.waits) > 0 {
		p.encodeWait(b.waits)
		b.waits = nil
	}
}

func (p *pipe) encodeBatch() {
	b := &p.batch
	p.encodeReleases(b.front)
	for _, o := range b.ones {
		p.encodeOne(o)
	}
	p.encodeReleases(b.back)
	for _, orders := range []*[]*order{&b.front, &b.ones, &b.back} {
		clear(*orders)
		*orders = (*orders)[:0]
	}
	b.frontHas.clear()
	b.onesHave.clear()
	b.backHas.clear()
}

// shares says whether a release may share a script with others. Another lock's may be no
// script at all.
func (p *pipe) shares(o *order) bool {
	script := o.q.cmd.Script
	return o.q.cmd.Kind == Release && script != nil && script.many != nil && !o.alone && !o.byText &&
		(p.prune == byHash || script != compareAndDelete)
}

func (p *pipe) encodeOne(o *order) {
	f := byHash
	switch {
	case o.byText:
		f = byText
	case o.q.cmd.Kind == Release && o.q.cmd.Script == compareAndDelete:
		f = p.prune
	}
	p.out = append(p.out, o.q.bytes(f)...)
	p.flight = append(p.flight, reply{order: o, at: p.left})
}

// encodeReleases has those share a script that have the same one, shareMost at most.
func (p *pipe) encodeReleases(orders []*order) {
	for len(orders) > 0 {
		many := orders[0].q.cmd.Script.many
		shared := p.batch.room()
		var others []*order
		for i, o := range orders {
			if len(shared) == shareMost {
				others = append(others, orders[i:]...)
				break
			}
			if o.q.cmd.Script.many == many {
				shared = append(shared, o)
			} else {
				others = append(others, o)
			}
		}
		orders = others
		if len(shared) == 1 {
			p.encodeOne(shared[0])
			p.batch.recycle(shared)
			continue
		}
		p.encodeShared(many, shared)
	}
}

// room is for the orders that share a script, until they are answered.
func (b *batch) room() []*order {
	if n := len(b.spare); n > 0 {
		room := b.spare[n-1]
		b.spare = b.spare[:n-1]
		return room
	}
	return make([]*order, 0, 8)
}

func (b *batch) recycle(orders []*order) {
	if len(b.spare) < 4 {
		clear(orders)
		b.spare = append(b.spare, orders[:0])
	}
}

func (p *pipe) encodeShared(many *Script, shared []*order) {
	words := 3
	for _, o := range shared {
		_, args := o.q.cmd.counts()
		words += 1 + args
	}
	b := appendHead(p.out, words)
	if p.teach {
		b, p.teach = appendWord(appendWord(b, "EVAL"), many.Text), false
	} else {
		b = appendWord(appendWord(b, "EVALSHA"), many.SHA)
	}
	b = appendNumber(b, int64(len(shared)))
	for _, o := range shared {
		b = appendWord(b, o.q.cmd.Key)
	}
	for _, o := range shared {
		b = appendArgs(b, &o.q.cmd)
	}
	p.out = b
	p.flight = append(p.flight, reply{shared: shared, at: p.left})
}

// encodeWait asks how many replicas have what was just written. One WAIT does for all:
// it is about the latest write of the connection.
func (p *pipe) encodeWait(orders []*order) {
	replicas, timeout := 0, time.Duration(0)
	for _, o := range orders {
		replicas, timeout = max(replicas, o.q.cmd.Wait), max(timeout, o.q.timeout)
	}
	b := appendWord(appendHead(p.out, 3), "WAIT")
	b = appendNumber(b, int64(replicas))
	p.out = appendNumber(b, max(1, (timeout/2).Milliseconds()))
	p.flight = append(p.flight, reply{shared: orders, wait: true, at: p.left})
}
