// Command own-main is the program lockpick with a lock of one's own in it.
package main

import (
	"lockpick/cli"
	"lockpick/locktest"
)

func main() {
	cli.Main(locktest.Kind("first", "SET NX PX on the first master alone", newLock))
}
