package workload

import "fmt"

// folklore lists locks that articles and answers on the net have proposed, and habits of
// libraries that none of the bugs b1 to b41 covers.
var folklore = []Implementation{
	{
		Name: "setnx", Masters: OneMaster, Twin: "textbook-single", Claims: []int{1},
		Summary: "SETNX on one master, without a TTL",
		New:     singleWith(mutations{set: setNX, forever: true}),
	},
	{
		Name: "setnx-expire", Masters: OneMaster, Twin: "textbook-single", Claims: []int{2},
		Summary: "SETNX on one master, and then PEXPIRE",
		New:     singleWith(mutations{set: setNXThenExpire}),
	},
	{
		Name: "set-del", Masters: OneMaster, Twin: "textbook-single", Claims: []int{4},
		Summary: "SET NX PX on one master, released by a bare DEL",
		New:     singleWith(mutations{release: plainDelete, unlessRefused: true}),
	},
	{
		Name: "set-get-del", Masters: OneMaster, Twin: "textbook-single", Claims: []int{5},
		Summary: "SET NX PX on one master, released by a GET, and then a DEL",
		New:     singleWith(mutations{release: getThenDelete}),
	},
	{
		Name: "set-broken-lua", Masters: OneMaster, Twin: "textbook-single", Claims: []int{6},
		Summary: "SET NX PX on one master, released by a script whose bracket is in the wrong place",
		New:     singleWith(mutations{release: brokenDelete}),
	},
	{
		Name: "set-driver-retries", Masters: OneMaster, Twin: "textbook-single", Claims: []int{61},
		Summary: "SET NX PX on one master, by a driver that sends it again when it got no answer; nil means that another has the lock",
		New:     singleWith(mutations{driverRetries: true, unlessRefused: true}),
	},
	{
		Name: "redlock-time-token", Twin: "textbook", Claims: []int{9},
		Summary: "Redlock whose token is the time in microseconds and an id that two machines may share",
		New:     textbookWith(mutations{token: timeToken}),
	},
	{
		Name: "redlock-late-start", Twin: "textbook", Claims: []int{13},
		Summary: "Redlock that takes its start time when the votes are in",
		New:     textbookWith(mutations{lateStart: true}),
	},
	{
		Name: "redlock-one-token", Twin: "textbook", Claims: []int{27},
		Summary: "Redlock with one token for all retries of an acquire",
		New:     textbookWith(mutations{once: true}),
	},
	{
		Name: "redlock-fence-incr", Fencing: true, Twin: "textbook", Claims: []int{32},
		Summary: "Redlock that fences by an INCR on each master and the maximum, which it does not write back",
		New:     textbookWith(mutations{noWriteBack: true}),
	},
	{
		Name: "redlock-extend-acquires", Twin: "textbook", Claims: []int{54},
		Summary: "Redlock that extends a lease by acquiring it again with the same token",
		New:     textbookWith(mutations{extendAcquires: true}),
	},
	{
		Name: "redlock-driver-retries", Twin: "textbook", Claims: []int{61},
		Summary: "Redlock on a driver that sends a SET again when it got no answer",
		New:     textbookWith(mutations{driverRetries: true}),
	},
	{
		Name: "redlock-evalsha", Twin: "textbook", Claims: []int{65},
		Summary: "Redlock that releases by EVALSHA, and does not fall back to EVAL",
		New:     textbookWith(mutations{release: deleteByHash, loads: true}),
	},
}

// timeToken combines the time and the id of a machine. Here all machines have the same id,
// as after cloning.
func timeToken(l *textbook) string { return fmt.Sprintf("%d-host", l.env.Wall().UnixMicro()) }
