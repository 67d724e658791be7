// Package existing is the driver of Redis servers that Lockpick did not start. It puts links in front of them and reads
// from them (INFO, TIME, GET, PTTL). It ends, stops and changes nothing there: faults are those of links and of clients.
package existing
