// Package twins has simulated masters run the Lua scripts of the locks under test: it
// registers a Go twin of each script that package workload has and redlock has not. Import
// it for that alone. A test compares every twin with its script on a real master.
package twins

import (
	"errors"

	"lockpick/cluster/sim"
	"lockpick/redlock"
	"lockpick/workload"
)

// all are the scripts with their twins.
var all = []struct {
	script *redlock.Script
	twin   func(db sim.DB, keys, args []string) any
}{
	{workload.IsOwn, func(db sim.DB, keys, args []string) any {
		if own(db, keys, args) {
			return int64(1)
		}
		return int64(0)
	}},

	{workload.DeleteBroken, func(sim.DB, []string, []string) any {
		return errors.New("ERR Lua redis() command arguments must be strings or integers")
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
}

func init() {
	for _, x := range all {
		sim.RegisterScript(x.script.Text, x.twin)
	}
}

// own says whether a key holds the first argument.
func own(db sim.DB, keys, args []string) bool {
	text, held := db.Get(keys[0])
	return held && text == args[0]
}
