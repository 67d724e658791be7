// Command own-main is the program lockpick with a lock of one's own in it.
package main

import (
	"lockpick/cli"
	"lockpick/locktest"
	"lockpick/workload"
)

func main() {
	kind := locktest.Kind("first", "SET NX PX on the first master alone", newLock)
	kind.Masters = workload.AllMasters // each lease should need a majority
	cli.Main(kind)
}
