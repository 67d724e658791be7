package checker

import "lockpick/history"

// Advice names what helps if a history proves too little about a property. It is data, because what a user can do depends
// on how the property was tested: a Wording has the sentence.
type Advice int

// What gives a history more evidence.
const (
	MoreWork        Advice = iota + 1 // clients that use the lock more often
	MoreContention                    // clients that compete for the same keys more often
	MoreExtensions                    // leases that are extended more often
	MoreUnderFaults                   // the same as before, while a fault is in force
	ExacterTimes                      // times without the delays of a busy machine
)

// What makes a scenario exercise a property at all.
const (
	ExtendLeases   Advice = iota + 101 // leases that are extended
	GiveFences                         // leases with fencing tokens
	FenceEachLease                     // a fencing token in each lease of a lock that is said to give them
	CompareWrites                      // writes that the guarded resource applies only if nobody wrote meanwhile
	CrashClients                       // clients that crash
	FailMinorities                     // faults that leave a quorum of masters intact
)

// What helps a search, which tries many schedules of a scenario.
const (
	MoreInEachSchedule Advice = iota + 201 // schedules that prove something by themselves
	MoreSchedules                          // more of them
	LeaveOutFault                          // a search without the fault that could not be installed
)

// Wording has the words for each advice: an imperative, or a sentence without a full stop. An advice without words is left out.
type Wording map[Advice]string

// FlagWording names flags of the program lockpick.
var FlagWording = Wording{
	MoreWork:           "try a longer --time-limit",
	MoreContention:     "try more --clients, fewer --keys or a longer --time-limit",
	MoreExtensions:     "try --extend, longer holds or a longer --time-limit",
	MoreUnderFaults:    "try a longer --time-limit, a shorter --interval or milder faults",
	ExacterTimes:       "or --driver sim",
	ExtendLeases:       "try --extend 1",
	GiveFences:         "try --fencing",
	FenceEachLease:     "the lock has to give one with each lease",
	CompareWrites:      "try --resource cas-mark-first",
	CrashClients:       "try --faults client-kill",
	FailMinorities:     "try --faults pause --targets minority",
	MoreInEachSchedule: "more --clients, a shorter --hold and --keys 1 make for more leases in each",
	MoreSchedules:      "try more --schedules",
	LeaveOutFault:      "leave it out of --faults, or see docs/scenarios.md for what it needs",
}

// logWording is for logs of a lock that Lockpick did not run: nothing makes its clients do more.
var logWording = Wording{
	MoreWork:        longerLogs,
	MoreContention:  longerLogs,
	MoreExtensions:  longerLogs,
	MoreUnderFaults: longerLogs,
}

const longerLogs = "check a longer time and the logs of all hosts together"

// reportWording is for tests that report what they do with the lock (history.Header.Reported): no flag makes them acquire.
var reportWording = Wording{
	MoreWork:        reportMore,
	MoreContention:  reportMore,
	MoreExtensions:  "let the tests extend more often, and report it",
	MoreUnderFaults: "let the tests acquire while a fault is installed",
}

const reportMore = "let the tests acquire more often, and report it"

// wordingFor returns the words for what helps in the next history of the same origin.
func wordingFor(h *history.Header) Wording {
	switch {
	case h.Driver == history.Imported:
		return logWording
	case h.Reported:
		return reportWording
	}
	return FlagWording
}

// of words what is lacking, and what helps.
func (w Wording) of(l lack) string {
	if w[l.helps] == "" {
		return l.what
	}
	return l.what + l.separator + w[l.helps]
}
