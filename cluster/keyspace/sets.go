package keyspace

import "slices"

var setCommands = map[string]*Command{
	"sadd":        grows(2, -1, typed(Set, sadd)),
	"srem":        writes(2, -1, removeMembers(Set)),
	"scard":       reads(1, 1, typed(Set, size)),
	"sismember":   reads(2, 2, typed(Set, func(_ DB, v Value, a []string) Reply { return Bool(v.Parts.has(a[1])) })),
	"smismember":  reads(2, -1, typed(Set, smisMember)),
	"smembers":    reads(1, 1, typed(Set, func(_ DB, v Value, _ []string) Reply { return Bulks(v.Parts.names()) })),
	"spop":        writes(1, 2, spop),
	"srandmember": reads(1, 2, srandMember),
	"smove":       writes(3, 3, smove),
	"sinter":      reads(1, -1, combine(both)),
	"sunion":      reads(1, -1, combine(either)),
	"sdiff":       reads(1, -1, combine(without)),
	"sintercard":  reads(2, -1, sinterCard),
	"sinterstore": grows(2, -1, combineInto(both)),
	"sunionstore": grows(2, -1, combineInto(either)),
	"sdiffstore":  grows(2, -1, combineInto(without)),
	"sscan":       reads(2, -1, scanParts(Set, func(_ *Parts, name string) []Reply { return []Reply{Bulk(name)} })),
}

func (p *Parts) has(member string) bool {
	_, is := p.score(member)
	return is
}

func sadd(db DB, v Value, args []string) Reply {
	p := copyOf(v.Parts, Set)
	for _, member := range args[1:] {
		p.Scores[member] = 0
	}
	n := p.count() - v.Parts.count()
	if n > 0 {
		db.save(args[0], v, p)
	}
	return Int(int64(n))
}

// removeMembers returns SREM or ZREM.
func removeMembers(kind string) func(DB, []string) Reply {
	return typed(kind, func(db DB, v Value, args []string) Reply { return db.remove(args[0], v, args[1:]) })
}

// remove removes members of a set or a sorted set, and replies with their number.
func (db DB) remove(key string, v Value, members []string) Reply {
	p := copyOf(v.Parts, v.Type())
	for _, member := range members {
		delete(p.Scores, member)
	}
	n := v.Parts.count() - p.count()
	if n > 0 {
		db.save(key, v, p)
	}
	return Int(int64(n))
}

func smisMember(_ DB, v Value, args []string) Reply {
	r := Reply{Kind: ReplyArray}
	for _, member := range args[1:] {
		r.Items = append(r.Items, Bool(v.Parts.has(member)))
	}
	return r
}

func spop(db DB, args []string) Reply {
	n, ok := int64(1), true
	if len(args) > 1 {
		if n, ok = Integer(args[1]); !ok || n < 0 {
			return Error(notPositive)
		}
	}
	v, problem := db.typed(args[0], Set)
	if problem != "" {
		return Error(problem)
	}
	chosen := db.draw(v.Parts.names(), n)
	db.remove(args[0], v, chosen)
	switch {
	case len(args) > 1:
		return Bulks(chosen)
	case len(chosen) == 0:
		return Nil
	}
	return Bulk(chosen[0])
}

// draw chooses up to n different names at random.
func (db DB) draw(names []string, n int64) (chosen []string) {
	for int64(len(chosen)) < n && len(names) > 0 {
		i := db.s.Intn(len(names))
		chosen = append(chosen, names[i])
		names = slices.Delete(names, i, i+1)
	}
	return chosen
}

func srandMember(db DB, args []string) Reply {
	n, ok := int64(1), true
	if len(args) > 1 {
		if n, ok = Integer(args[1]); !ok {
			return Error(notInteger)
		}
	}
	v, problem := db.typed(args[0], Set)
	names := v.Parts.names()
	switch {
	case problem != "":
		return Error(problem)
	case len(args) == 1 && len(names) == 0:
		return Nil
	case len(args) == 1:
		return Bulk(names[db.s.Intn(len(names))])
	case n < -mostRepeated:
		return Error("ERR value is out of range")
	}
	return Bulks(db.sample(names, n))
}

func smove(db DB, args []string) Reply {
	v, problem := db.typed(args[0], Set)
	if problem == "" && v.Parts == nil {
		return Int(0)
	}
	w, problem2 := db.typed(args[1], Set)
	switch {
	case problem != "" || problem2 != "":
		return Error(wrongType)
	case args[0] == args[1]:
		return Bool(v.Parts.has(args[2]))
	case !v.Parts.has(args[2]):
		return Int(0)
	}
	db.remove(args[0], v, args[2:])
	sadd(db, w, []string{args[1], args[2]})
	return Int(1)
}

// Rules for the members of a combination of sets.
func both(inFirst, inOther bool) bool    { return inFirst && inOther }
func either(inFirst, inOther bool) bool  { return inFirst || inOther }
func without(inFirst, inOther bool) bool { return inFirst && !inOther }

// combination combines the sets under keys, one after the other.
func (db DB) combination(keys []string, rule func(inFirst, inOther bool) bool) (p *Parts, problem string) {
	for i, key := range keys {
		v, problem := db.typed(key, Set)
		if problem != "" {
			return nil, problem
		}
		if i == 0 {
			p = copyOf(v.Parts, Set)
			continue
		}
		for _, member := range slices.Concat(p.names(), v.Parts.names()) {
			if rule(p.has(member), v.Parts.has(member)) {
				p.Scores[member] = 0
			} else {
				delete(p.Scores, member)
			}
		}
	}
	return p, ""
}

func combine(rule func(inFirst, inOther bool) bool) func(DB, []string) Reply {
	return func(db DB, keys []string) Reply {
		p, problem := db.combination(keys, rule)
		if problem != "" {
			return Error(problem)
		}
		return Bulks(p.names())
	}
}

func combineInto(rule func(inFirst, inOther bool) bool) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		p, problem := db.combination(args[1:], rule)
		if problem != "" {
			return Error(problem)
		}
		db.save(args[0], Value{Expires: Never}, p)
		return Int(int64(p.count()))
	}
}
