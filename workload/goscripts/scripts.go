// Package goscripts lets simulated masters run the Lua scripts of the locks under test. It
// registers a Go version of each script of package workload that redlock does not have.
// Programs import it only for that effect. A test compares every Go version with its script
// on a real master.
package goscripts

import (
	"errors"
	"fmt"
	"strconv"

	"lockpick/cluster/sim"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// all lists the scripts with their Go versions.
var all = []struct {
	script *protocol.Script
	run    func(db sim.DB, keys, args []string) any
}{
	{workload.IsOwn, func(db sim.DB, keys, args []string) any {
		if own(db, keys, args) {
			return int64(1)
		}
		return int64(0)
	}},

	{workload.DeleteByHash, func(db sim.DB, keys, args []string) any {
		if own(db, keys, args) {
			return db.Call("del", keys[0])
		}
		return int64(0)
	}},

	{workload.DeleteBroken, func(sim.DB, []string, []string) any {
		says := fmt.Sprintf("ERR Lua redis lib command arguments must be strings or integers script: %s, on @user_script:1.", workload.DeleteBroken.SHA)
		return errors.New(says)
	}},

	{workload.ExpireOrSet, func(db sim.DB, keys, args []string) any {
		if own(db, keys, args) {
			return db.Call("pexpire", keys[0], args[1])
		}
		if _, held := db.Get(keys[0]); held {
			return int64(0)
		}
		db.Call("set", keys[0], args[0], "PX", args[1])
		return int64(1)
	}},

	{workload.ReentrantSet, func(db sim.DB, keys, args []string) any {
		if db.Call("exists", keys[0]) == int64(1) && db.Call("hexists", keys[0], args[0]) == int64(0) {
			return int64(0)
		}
		count := db.Call("hincrby", keys[0], args[0], "1")
		db.Call("pexpire", keys[0], args[1])
		return count
	}},

	{workload.ReentrantExpire, func(db sim.DB, keys, args []string) any {
		if db.Call("hexists", keys[0], args[0]) == int64(0) {
			return int64(0)
		}
		return db.Call("pexpire", keys[0], args[1])
	}},

	{workload.ReentrantRelease, func(db sim.DB, keys, args []string) any {
		if db.Call("hexists", keys[0], args[0]) == int64(0) {
			return int64(0)
		}
		if db.Call("hincrby", keys[0], args[0], "-1").(int64) > 0 {
			db.Call("pexpire", keys[0], args[1])
			return int64(0)
		}
		return db.Call("del", keys[0])
	}},

	{workload.FairSet, fairSet},

	{workload.FairLeave, func(db sim.DB, keys, args []string) any {
		q := queueOf(db, keys[0])
		for i := q.head; i <= q.tail; i++ {
			if q.waiter(i) == args[0] {
				db.Call("hset", keys[0], field("w", i), "")
				return int64(1)
			}
		}
		return int64(0)
	}},
}

func fairSet(db sim.DB, keys, args []string) any {
	token, waiter := args[0], args[2]
	q := queueOf(db, keys[1])
	turn := int64(0)
	if v, ok := db.Call("hget", q.key, "turn").(string); ok {
		turn = whole(v)
	}
	free := db.Call("exists", keys[0]) == int64(0)
	for free && q.head <= q.tail && q.waiter(q.head) != waiter {
		first := q.waiter(q.head)
		if first != "" && turn < q.head {
			db.Call("hset", q.key, "turn", fmt.Sprint(q.head))
			db.Call("set", keys[2], first, "PX", args[3])
			break
		}
		if first != "" && db.Call("exists", keys[2]) == int64(1) {
			break
		}
		q.pop()
	}
	if free && (q.head > q.tail || q.waiter(q.head) == waiter) {
		if q.head <= q.tail {
			q.pop()
		}
		db.Call("hset", q.key, "head", fmt.Sprint(q.head), "tail", fmt.Sprint(q.tail))
		db.Call("set", keys[0], token, "PX", args[1])
		return int64(1)
	}
	db.Call("hset", q.key, "head", fmt.Sprint(q.head))
	for i := q.head; i <= q.tail; i++ {
		if q.waiter(i) == waiter {
			return int64(0)
		}
	}
	q.tail++
	db.Call("hset", q.key, "tail", fmt.Sprint(q.tail), field("w", q.tail), waiter)
	return int64(0)
}

// queue is the waiting list of a fair lock.
type queue struct {
	db         sim.DB
	key        string
	head, tail int64
}

func queueOf(db sim.DB, key string) *queue {
	q := &queue{db: db, key: key, head: 1}
	if v, ok := db.Call("hget", key, "head").(string); ok {
		q.head = whole(v)
	}
	if v, ok := db.Call("hget", key, "tail").(string); ok {
		q.tail = whole(v)
	}
	return q
}

func (q *queue) waiter(i int64) string {
	text, _ := q.db.Call("hget", q.key, field("w", i)).(string)
	return text
}

func (q *queue) pop() {
	q.db.Call("hdel", q.key, field("w", q.head))
	q.head++
}

func field(what string, i int64) string { return fmt.Sprintf("%s%d", what, i) }

// whole parses a number that a client or this script has written.
func whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func init() {
	for _, x := range all {
		sim.RegisterScript(x.script.Text, x.run)
	}
}

// own reports whether a key stores the first argument.
func own(db sim.DB, keys, args []string) bool {
	text, held := db.Get(keys[0])
	return held && text == args[0]
}
