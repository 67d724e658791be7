package locks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// List reads the servers, which are one Redis or the masters of one set of locks.
func List(ctx context.Context, servers []*redis.Options, opt Options) *Result {
	opt.MaxKeys, opt.settle = cmp.Or(opt.MaxKeys, DefaultMaxKeys), cmp.Or(opt.settle, time.Second)
	r := &Result{At: time.Now().UTC(), Quorum: len(servers)/2 + 1, Complete: true, Locks: []Lock{}, Notes: []string{}}
	all := make([]*contents, len(servers))
	var reads sync.WaitGroup
	for i, o := range servers {
		reads.Go(func() { all[i] = read(ctx, fmt.Sprintf("m%d", i+1), o, opt) })
	}
	reads.Wait()
	defer func() {
		for _, c := range all {
			c.client.Close()
		}
	}()
	nodes, unread := 0, 0
	for _, c := range all {
		r.Servers = append(r.Servers, c.Server)
		if c.cluster {
			nodes++
		}
		if !c.Complete {
			r.Complete = false
			unread++
		}
	}
	if nodes > 0 {
		r.Quorum, unread = 1, 0
		r.Notes = append(r.Notes, "The server is a node of a Redis Cluster, which stores the keys of its slots only: give the masters of all slots.")
	}
	j := join{result: r, all: all, opt: opt, unread: unread, locks: map[string]*Lock{}, holders: map[holderOf][]seen{}}
	j.add()
	j.queues()
	j.finish(ctx)
	j.waiters(ctx)
	return r
}

// join makes one list of what the servers store.
type join struct {
	result  *Result
	all     []*contents
	opt     Options
	unread  int // servers of which not all keys are known
	locks   map[string]*Lock
	holders map[holderOf][]seen
}

// holderOf names a holder of a lock.
type holderOf struct{ key, owner, mode string }

// seen is a holder that one server stores.
type seen struct {
	on    *contents
	entry *entry
	owner owner
}

func (j *join) add() {
	for _, c := range j.all {
		for _, key := range slices.Sorted(maps.Keys(c.entries)) {
			e := c.entries[key]
			s := shapeOf(e, j.opt.Match != "", c.now)
			if len(s.owners) == 0 {
				continue
			}
			l := j.locks[key]
			if l == nil {
				l = &Lock{Key: key, Type: e.kind, Why: s.why, Certain: s.certain, Holders: []Holder{}, Waiters: []string{}, Problems: []string{}, Listen: -1}
				j.locks[key] = l
			}
			l.More = max(l.More, e.more)
			for _, o := range s.owners {
				at := holderOf{key, o.name, o.mode}
				j.holders[at] = append(j.holders[at], seen{c, e, o})
				if o.problem != "" && !slices.Contains(l.Problems, o.problem) {
					l.Problems = append(l.Problems, o.problem)
				}
			}
		}
	}
}

// queues moves lists and sorted sets in which clients wait to the locks for which they wait.
func (j *join) queues() {
	isLock := func(key string) bool { l := j.locks[key]; return l != nil && (l.Type == "string" || l.Type == "hash") }
	for _, c := range j.all {
		for _, key := range slices.Sorted(maps.Keys(c.entries)) {
			e := c.entries[key]
			if e.kind != "list" && (e.kind != "zset" || !queue.MatchString(key)) {
				continue
			}
			lock := lockOfQueue(key, isLock)
			if lock == "" {
				continue
			}
			l := j.locks[lock]
			if !slices.Contains(l.Queues, key) {
				l.Queues = append(l.Queues, key)
			}
			for _, m := range e.members {
				if !slices.Contains(l.Waiters, m.name) {
					l.Waiters = append(l.Waiters, m.name)
				}
			}
			delete(j.locks, key)
		}
	}
}

// finish determines who holds each lock. It reads again, after a while, what fewer than a quorum of the servers
// store: a client may be acquiring or releasing it.
func (j *join) finish(ctx context.Context) {
	again := map[*contents][]string{}
	for at, on := range j.holders {
		if j.locks[at.key] != nil && len(on)+j.unread < j.result.Quorum {
			for _, s := range on {
				again[s.on] = append(again[s.on], at.key)
			}
		}
	}
	later := j.later(ctx, again)
	order := slices.SortedFunc(maps.Keys(j.holders), func(a, b holderOf) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.mode, b.mode), cmp.Compare(a.owner, b.owner))
	})
	for _, at := range order {
		l := j.locks[at.key]
		if l == nil {
			continue
		}
		h := j.holder(at, j.holders[at])
		if h.State == LeftBehind && later[at] != len(h.On) {
			h.State = Passing
		}
		if h.Endless {
			l.problem("no TTL: it stays until a client deletes it")
		}
		l.Holders = append(l.Holders, h)
	}
	for _, key := range slices.Sorted(maps.Keys(j.locks)) {
		l := j.locks[key]
		if len(l.Holders) > 1 && l.Type == "string" {
			l.problem("the servers store different owners")
		}
		j.result.Locks = append(j.result.Locks, *l)
	}
	slices.SortStableFunc(j.result.Locks, func(a, b Lock) int {
		switch {
		case a.Certain == b.Certain:
			return 0
		case a.Certain:
			return -1
		}
		return 1
	})
}

func (l *Lock) problem(text string) {
	if !slices.Contains(l.Problems, text) {
		l.Problems = append(l.Problems, text)
	}
}

// holder returns a holder from what the servers store.
func (j *join) holder(at holderOf, on []seen) Holder {
	h := Holder{Owner: at.owner, Mode: at.mode, State: Held, Stored: on[0].owner.stored}
	const endless = time.Duration(1<<63 - 1)
	var left []time.Duration
	for _, s := range on {
		h.On = append(h.On, s.on.Name)
		h.Count = max(h.Count, s.owner.count)
		h.Untouched = max(h.Untouched, s.entry.idle)
		if s.entry.endless {
			left = append(left, endless)
		} else {
			left = append(left, s.entry.left)
		}
	}
	slices.SortFunc(left, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	switch n := len(on); {
	case n >= j.result.Quorum:
		h.Left = left[j.result.Quorum-1] // then fewer than a quorum are left
	case n+j.unread >= j.result.Quorum:
		h.State, h.Left = Unclear, left[0]
	default:
		h.State, h.Left = LeftBehind, left[0]
	}
	if h.Left == endless {
		h.Left, h.Endless = 0, true
	}
	if !h.Endless && h.Left <= j.opt.TTL {
		h.Set = j.opt.TTL - h.Left
	}
	return h
}

// later reads keys again after a while, and returns how many servers still store each holder.
func (j *join) later(ctx context.Context, again map[*contents][]string) map[holderOf]int {
	found := map[holderOf]int{}
	if len(again) == 0 {
		return found
	}
	select {
	case <-time.After(j.opt.settle):
	case <-ctx.Done():
	}
	if j.opt.settled != nil {
		j.opt.settled()
	}
	for c, keys := range again {
		slices.Sort(keys)
		entries, err := c.keys(ctx, slices.Compact(keys))
		if err != nil {
			continue
		}
		for _, e := range entries {
			for _, o := range shapeOf(e, j.opt.Match != "", c.now).owners {
				found[holderOf{e.key, o.name, o.mode}]++
			}
		}
	}
	return found
}

// waiters adds the subscribers of the locks' channels, where the servers tell.
func (j *join) waiters(ctx context.Context) {
	var keys []string
	for _, l := range j.result.Locks {
		keys = append(keys, l.Key)
	}
	for _, c := range j.all {
		if c.Error != "" {
			continue
		}
		found := c.subscribers(ctx, keys)
		for i := range j.result.Locks {
			if l := &j.result.Locks[i]; found != nil {
				l.Listen = max(l.Listen, found[l.Key])
			}
		}
	}
}
