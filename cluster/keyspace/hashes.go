package keyspace

import "strconv"

var hashCommands = map[string]*Command{
	"hset":         grows(3, -1, func(db DB, a []string) Reply { return hset(db, "hset", a) }),
	"hmset":        grows(3, -1, func(db DB, a []string) Reply { return hset(db, "hmset", a) }),
	"hsetnx":       grows(3, 3, typed(Hash, hsetNX)),
	"hget":         reads(2, 2, typed(Hash, func(_ DB, v Value, a []string) Reply { return found(v.Parts.field(a[1])) })),
	"hmget":        reads(2, -1, typed(Hash, hmget)),
	"hexists":      reads(2, 2, typed(Hash, hexists)),
	"hstrlen":      reads(2, 2, typed(Hash, hstrlen)),
	"hlen":         reads(1, 1, typed(Hash, size)),
	"hdel":         writes(2, -1, typed(Hash, hdel)),
	"hincrby":      grows(3, 3, hincrBy),
	"hincrbyfloat": grows(3, 3, hincrByFloat),
	"hgetall":      reads(1, 1, typed(Hash, hgetAll)),
	"hkeys":        reads(1, 1, typed(Hash, func(_ DB, v Value, _ []string) Reply { return Bulks(v.Parts.names()) })),
	"hvals":        reads(1, 1, typed(Hash, hvals)),
	"hrandfield":   reads(1, -1, randomPart(Hash, "withvalues", func(p *Parts, field string) Reply { return Bulk(p.Fields[field]) })),
	"hscan": reads(2, -1, scanParts(Hash, func(p *Parts, name string) []Reply {
		return []Reply{Bulk(name), Bulk(p.Fields[name])}
	})),
}

// size implements HLEN, LLEN, SCARD and ZCARD.
func size(_ DB, v Value, _ []string) Reply { return Int(int64(v.Parts.count())) }

func hset(db DB, name string, args []string) Reply {
	if len(args)%2 == 0 {
		return wrongNumber(name)
	}
	v, problem := db.typed(args[0], Hash)
	if problem != "" {
		return Error(problem)
	}
	p := copyOf(v.Parts, Hash)
	for i := 1; i < len(args); i += 2 {
		p.Fields[args[i]] = args[i+1]
	}
	db.save(args[0], v, p)
	if name == "hmset" {
		return OK
	}
	return Int(int64(p.count() - v.Parts.count()))
}

func hsetNX(db DB, v Value, args []string) Reply {
	if _, exists := v.Parts.field(args[1]); exists {
		return Int(0)
	}
	return hset(db, "hset", args)
}

func hmget(_ DB, v Value, args []string) Reply {
	r := Reply{Kind: ReplyArray}
	for _, field := range args[1:] {
		r.Items = append(r.Items, found(v.Parts.field(field)))
	}
	return r
}

func hexists(_ DB, v Value, args []string) Reply {
	_, exists := v.Parts.field(args[1])
	return Bool(exists)
}

func hstrlen(_ DB, v Value, args []string) Reply {
	text, _ := v.Parts.field(args[1])
	return Int(int64(len(text)))
}

func hdel(db DB, v Value, args []string) Reply {
	p := copyOf(v.Parts, Hash)
	for _, field := range args[1:] {
		delete(p.Fields, field)
	}
	n := v.Parts.count() - p.count()
	if n > 0 {
		db.save(args[0], v, p)
	}
	return Int(int64(n))
}

func hincrBy(db DB, args []string) Reply {
	increment, ok := Integer(args[2])
	if !ok {
		return Error(notInteger)
	}
	v, problem := db.typed(args[0], Hash)
	if problem != "" {
		return Error(problem)
	}
	n := int64(0)
	if x, exists := v.Parts.field(args[1]); exists {
		if n, ok = Integer(x); !ok {
			return Error("ERR hash value is not an integer")
		}
	}
	if n, ok = sum(n, increment); !ok {
		return Error(overflow)
	}
	p := copyOf(v.Parts, Hash)
	p.Fields[args[1]] = strconv.FormatInt(n, 10)
	db.save(args[0], v, p)
	return Int(n)
}

func hincrByFloat(db DB, args []string) Reply {
	if x, ok := decimal(args[2]); !ok {
		return Error(notFloat)
	} else if x.IsInf() {
		return Error("ERR value is NaN or Infinity")
	}
	v, problem := db.typed(args[0], Hash)
	if problem != "" {
		return Error(problem)
	}
	x, _ := v.Parts.field(args[1])
	text, problem := sumOfDecimals(x, args[2], "ERR hash value is not a float")
	if problem != "" {
		return Error(problem)
	}
	p := copyOf(v.Parts, Hash)
	p.Fields[args[1]] = text
	db.save(args[0], v, p)
	return Bulk(text)
}

// hgetAll returns the fields sorted; Redis guarantees no order.
func hgetAll(_ DB, v Value, _ []string) Reply {
	r := Reply{Kind: ReplyMap}
	for _, field := range v.Parts.names() {
		r.Items = append(r.Items, Bulk(field), Bulk(v.Parts.Fields[field]))
	}
	return r
}

func hvals(_ DB, v Value, _ []string) Reply {
	r := Reply{Kind: ReplyArray}
	for _, field := range v.Parts.names() {
		r.Items = append(r.Items, Bulk(v.Parts.Fields[field]))
	}
	return r
}
