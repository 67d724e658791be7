package locktest

import "lockpick/checker"

// exploreWording says what helps a test that proves too little, by the names of this package.
var exploreWording = checker.Wording{
	checker.MoreWork:           "try more Schedules",
	checker.MoreContention:     "try more Clients, Keys(1) or more Schedules",
	checker.MoreExtensions:     "let every lease have an Extend, or try more Schedules",
	checker.MoreUnderFaults:    "try more Schedules, or Faults of fewer kinds",
	checker.ExacterTimes:       "or no RealRedis",
	checker.ExtendLeases:       "let the leases have an Extend",
	checker.GiveFences:         "try Fencing(), and set the Fence of each Lease",
	checker.FenceEachLease:     "set the Fence of each Lease",
	checker.CompareWrites:      "write a scenario with resource: cas-mark-first, and try Run",
	checker.CrashClients:       `try Faults("client-kill")`,
	checker.FailMinorities:     `try Faults("pause") and more Schedules`,
	checker.MoreInEachSchedule: "try more Clients, Keys(1) or Faults of fewer kinds",
	checker.MoreSchedules:      "try more Schedules or a longer For",
	checker.LeaveOutFault:      "leave it out of Faults, or see docs/scenarios.md for what it needs",
}

// auditWording says what helps an audit. It chooses clients, keys and faults itself, so Explore is what helps one that
// has tried all its schedules.
func auditWording(limited bool) checker.Wording {
	w := checker.Wording{
		checker.MoreWork:        "try Explore with more Schedules",
		checker.MoreContention:  "try Explore with more Clients and Keys(1)",
		checker.MoreExtensions:  "let every lease have an Extend, and try Explore with more Schedules",
		checker.MoreUnderFaults: "try Explore with more Schedules and Faults of fewer kinds",
		checker.ExacterTimes:    exploreWording[checker.ExacterTimes],
	}
	if limited {
		for _, a := range []checker.Advice{checker.MoreWork, checker.MoreContention, checker.MoreExtensions, checker.MoreUnderFaults} {
			w[a] = "try more schedules for each case, without -short and Schedules"
		}
	}
	return w
}
