package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"lockpick/cluster"
)

// setFor implements SETEX and PSETEX.
func setFor(db DB, name string, args []string, unit int64) reply {
	n, err := strconv.ParseInt(args[1], 10, 64)
	switch {
	case err != nil:
		return errorReply(notInteger)
	case n <= 0 || n > math.MaxInt64/unit || n*unit > never-1-Epoch.UnixMilli()-max(db.now, 0):
		return errorReply("ERR invalid expire time in '" + name + "' command")
	}
	db.s.put(args[0], value{text: args[2], expires: db.now + n*unit})
	return okReply
}

func getSet(db DB, args []string) reply {
	old := get(db, args[:1])
	if old.kind != replyError {
		db.s.put(args[0], value{text: args[1], expires: never})
	}
	return old
}

func getDel(db DB, args []string) reply {
	old := get(db, args)
	if old.kind == replyBulk {
		db.s.drop(args[0], cluster.Deleted)
	}
	return old
}

func mget(db DB, args []string) reply {
	all := reply{kind: replyArray}
	for _, key := range args {
		r := nilReply
		if v, ok := db.s.get(key, db.now); ok && v.hash == nil {
			r = bulkReply(v.text)
		}
		all.items = append(all.items, r)
	}
	return all
}

func mset(db DB, args []string) reply {
	if len(args)%2 != 0 {
		return errorReply("ERR wrong number of arguments for 'mset' command")
	}
	for i := 0; i < len(args); i += 2 {
		db.s.put(args[i], value{text: args[i+1], expires: never})
	}
	return okReply
}

func strlen(db DB, args []string) reply {
	r := get(db, args)
	if r.kind == replyError {
		return r
	}
	return intReply(int64(len(r.text)))
}

func appendTo(db DB, args []string) reply {
	v, ok := db.s.get(args[0], db.now)
	switch {
	case ok && v.hash != nil:
		return errorReply(wrongType)
	case !ok:
		v.expires = never
	}
	v.text += args[1]
	db.s.put(args[0], v)
	return intReply(int64(len(v.text)))
}

func typeOf(db DB, args []string) reply {
	kind := "none"
	if v, ok := db.s.get(args[0], db.now); ok {
		kind = "string"
		if v.hash != nil {
			kind = "hash"
		}
	}
	return reply{kind: replyStatus, text: kind}
}

// hgetall returns the fields sorted; Redis guarantees no order.
func hgetall(db DB, args []string) reply {
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	r := reply{kind: replyMap}
	for _, field := range slices.Sorted(maps.Keys(v.hash)) {
		r.items = append(r.items, bulkReply(field), bulkReply(v.hash[field]))
	}
	return r
}

func hmset(db DB, args []string) reply {
	if len(args)%2 == 0 {
		return errorReply("ERR wrong number of arguments for 'hmset' command")
	}
	if r := hset(db, args); r.kind == replyError {
		return r
	}
	return okReply
}

func hmget(db DB, args []string) reply {
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	r := reply{kind: replyArray}
	for _, field := range args[1:] {
		x, ok := v.hash[field]
		if ok {
			r.items = append(r.items, bulkReply(x))
		} else {
			r.items = append(r.items, nilReply)
		}
	}
	return r
}

func hsetnx(db DB, args []string) reply {
	if r := hexists(db, args[:2]); r.kind == replyError || r.n == 1 {
		r.n = 0
		return r
	}
	return hset(db, args)
}

// info returns the fields of INFO that clients need.
func info(db DB, _ []string) reply {
	return bulkReply(fmt.Sprintf("# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nrun_id:%s\r\n# Replication\r\nrole:master\r\nconnected_slaves:%d\r\n",
		serverVersion, db.m.runID, len(db.m.replicas)))
}
