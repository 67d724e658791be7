package claims

import (
	"slices"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
)

// Programs returns the programs that Verify may start besides those that come with Lockpick, each once.
func Programs(all []Claim, opt Options) (programs []campaign.Program) {
	add := func(s scenario.Scenario) {
		s.Driver = opt.Driver
		s.UseSoftware(opt.Masters)
		for _, p := range campaign.Programs(&s) {
			if !slices.ContainsFunc(programs, func(q campaign.Program) bool { return p.String() == q.String() }) {
				programs = append(programs, p)
			}
		}
	}
	for i := range all {
		for j := range all[i].Cases {
			k := &all[i].Cases[j]
			add(k.Scenario)
			if k.Twin != nil {
				add(k.Twin.Scenario)
			}
		}
	}
	return programs
}
