package keyspace

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

var sortedSetCommands = map[string]*Command{
	"zadd":             grows(3, -1, func(db DB, a []string) Reply { return zadd(db, a, false) }),
	"zincrby":          grows(3, 3, func(db DB, a []string) Reply { return zadd(db, a, true) }),
	"zrem":             writes(2, -1, removeMembers(SortedSet)),
	"zcard":            reads(1, 1, typed(SortedSet, size)),
	"zscore":           reads(2, 2, typed(SortedSet, func(_ DB, v Value, a []string) Reply { return v.Parts.scoreOf(a[1]) })),
	"zmscore":          reads(2, -1, typed(SortedSet, zmScore)),
	"zrank":            reads(2, 2, zrank(false)),
	"zrevrank":         reads(2, 2, zrank(true)),
	"zcount":           reads(3, 3, countRange(byScore)),
	"zlexcount":        reads(3, 3, countRange(byName)),
	"zrange":           reads(3, -1, func(db DB, a []string) Reply { return zrange(db, "", a, rangeQuery{}) }),
	"zrangestore":      grows(4, -1, func(db DB, a []string) Reply { return zrange(db, a[0], a[1:], rangeQuery{}) }),
	"zrevrange":        reads(3, 4, fixedRange(byRank, true)),
	"zrangebyscore":    reads(3, -1, fixedRange(byScore, false)),
	"zrevrangebyscore": reads(3, -1, fixedRange(byScore, true)),
	"zrangebylex":      reads(3, -1, fixedRange(byName, false)),
	"zrevrangebylex":   reads(3, -1, fixedRange(byName, true)),
	"zremrangebyrank":  writes(3, 3, removeRange(byRank)),
	"zremrangebyscore": writes(3, 3, removeRange(byScore)),
	"zremrangebylex":   writes(3, 3, removeRange(byName)),
	"zpopmin":          writes(1, 2, func(db DB, a []string) Reply { return zpop(db, a, false) }),
	"zpopmax":          writes(1, 2, func(db DB, a []string) Reply { return zpop(db, a, true) }),
	"zmpop":            writes(3, -1, sortedSetPopper.do),
	"bzpopmin":         waits(writes(2, -1, nil), true, waitToPop(SortedSet, func(db DB, a []string) Reply { return zpop(db, a, false) })),
	"bzpopmax":         waits(writes(2, -1, nil), true, waitToPop(SortedSet, func(db DB, a []string) Reply { return zpop(db, a, true) })),
	"bzmpop":           waits(writes(4, -1, nil), false, waitToPopMany(sortedSetPopper)),
	"zunion":           reads(2, -1, union.show()),
	"zinter":           reads(2, -1, intersection.show()),
	"zdiff":            reads(2, -1, difference.show()),
	"zunionstore":      grows(3, -1, union.store()),
	"zinterstore":      grows(3, -1, intersection.store()),
	"zdiffstore":       grows(3, -1, difference.store()),
	"zintercard":       reads(2, -1, zinterCard),
	"zrandmember":      reads(1, -1, randomPart(SortedSet, "withscores", (*Parts).scoreOf)),
	"zscan": reads(2, -1, scanParts(SortedSet, func(p *Parts, name string) []Reply {
		return []Reply{Bulk(name), Bulk(formatFloat(p.Scores[name]))}
	})),
}

// ranked returns the members in the order of their scores, and of their names where these are equal.
func (p *Parts) ranked() []string {
	names := p.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.Scores[a], p.Scores[b]) })
	return names
}

func (p *Parts) scoreOf(member string) Reply {
	if x, ok := p.score(member); ok {
		return double(x)
	}
	return Nil
}

func zmScore(_ DB, v Value, args []string) Reply {
	r := Reply{Kind: ReplyArray}
	for _, member := range args[1:] {
		r.Items = append(r.Items, v.Parts.scoreOf(member))
	}
	return r
}

func zrank(reverse bool) func(DB, []string) Reply {
	return typed(SortedSet, func(_ DB, v Value, args []string) Reply {
		names := v.Parts.ranked()
		at := slices.Index(names, args[1])
		switch {
		case at < 0:
			return Nil
		case reverse:
			at = len(names) - 1 - at
		}
		return Int(int64(at))
	})
}

// zaddOptions are the options of ZADD.
type zaddOptions struct{ nx, xx, gt, lt, ch, incr bool }

func zadd(db DB, args []string, incr bool) Reply {
	o, rest := zaddOptions{incr: incr}, args[1:]
	for ; !incr && len(rest) > 0; rest = rest[1:] {
		flag := map[string]*bool{"nx": &o.nx, "xx": &o.xx, "gt": &o.gt, "lt": &o.lt, "ch": &o.ch, "incr": &o.incr}[strings.ToLower(rest[0])]
		if flag == nil {
			break
		}
		*flag = true
	}
	switch {
	case len(rest) == 0 || len(rest)%2 != 0:
		return Error(syntaxError)
	case o.nx && o.xx:
		return Error("ERR XX and NX options at the same time are not compatible")
	case o.gt && o.nx || o.lt && o.nx || o.gt && o.lt:
		return Error("ERR GT, LT, and/or NX options at the same time are not compatible")
	case o.incr && len(rest) > 2:
		return Error("ERR INCR option supports a single increment-element pair")
	}
	scores := make([]float64, len(rest)/2)
	for i := range scores {
		var ok bool
		if scores[i], ok = float(rest[2*i]); !ok {
			return Error(notFloat)
		}
	}
	v, problem := db.typed(args[0], SortedSet)
	if problem != "" {
		return Error(problem)
	}
	p := copyOf(v.Parts, SortedSet)
	added, changed, last := 0, 0, Nil
	for i, score := range scores {
		member := rest[2*i+1]
		old, exists := p.score(member)
		if last = Nil; o.nx && exists || o.xx && !exists {
			continue
		}
		if o.incr && exists {
			if score += old; math.IsNaN(score) {
				return Error("ERR resulting score is not a number (NaN)")
			}
		}
		if exists && (o.gt && score <= old || o.lt && score >= old) {
			continue
		}
		switch p.Scores[member] = score; {
		case !exists:
			added++
		case score != old:
			changed++
		}
		last = double(score)
	}
	if added+changed > 0 {
		db.save(args[0], v, p)
	}
	switch {
	case o.incr:
		return last
	case o.ch:
		added += changed
	}
	return Int(int64(added))
}

func zpop(db DB, args []string, highest bool) Reply {
	n, ok := int64(1), true
	if len(args) > 1 {
		if n, ok = Integer(args[1]); !ok || n < 0 {
			return Error(notPositive)
		}
	}
	v, problem := db.typed(args[0], SortedSet)
	if problem != "" {
		return Error(problem)
	}
	names := v.Parts.popped(highest, n)
	r := v.Parts.pairs(names, len(args) > 1)
	db.remove(args[0], v, names)
	return r
}

// popped returns the members with the lowest or the highest scores.
func (p *Parts) popped(highest bool, n int64) []string {
	names := p.ranked()
	if highest {
		slices.Reverse(names)
	}
	return names[:min(n, int64(len(names)))]
}

// pairs returns members with their scores. Version 3 of the protocol nests each pair where nested
// is set.
func (p *Parts) pairs(names []string, nested bool) Reply {
	r := Reply{Kind: ReplyArray}
	if nested {
		r.Kind = ReplyPairs
	}
	for _, name := range names {
		r.Items = append(r.Items, Bulk(name), double(p.Scores[name]))
	}
	return r
}
