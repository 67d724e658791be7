package claims

import (
	"slices"

	"lockpick/campaign/scenario"
)

// Replacement is a lock with which the claims are verified instead of the lock that the catalogue
// names.
type Replacement struct {
	Lock   string                                  // one of Lockpick's own; with Client a label
	Client []string                                // the command that runs as each client; empty: none
	For    string                                  // the lock of the catalogue that it replaces: redlock, or single for a lock on one master
	Lacks  func(s *scenario.Scenario) (why string) // returns why the lock cannot run a scenario; "": it can
}

// InPlace returns the cases about a lock of the catalogue, with another lock in its place. It leaves
// out claims without such a case. If the other lock cannot run a case, the case's NotOn says why for
// each driver.
func InPlace(all []Claim, r Replacement) []Claim {
	var out []Claim
	for _, c := range all {
		var cases []Case
		for _, k := range c.Cases {
			if k.Scenario.Lock != r.For || k.Scenario.ClientsAs == scenario.Processes && len(r.Client) > 0 {
				continue
			}
			k.Scenario.Lock, k.Scenario.Client = r.Lock, r.Client
			why := r.Lacks(&k.Scenario)
			if k.Twin != nil {
				twin := *k.Twin
				twin.Scenario.Lock, twin.Scenario.Client = r.Lock, r.Client
				k.Twin = &twin
				if why == "" {
					why = r.Lacks(&twin.Scenario)
				}
			}
			if why != "" {
				k.NotOn = map[string]string{}
				for _, d := range scenario.Drivers {
					k.NotOn[d] = why
				}
			}
			cases = append(cases, k)
		}
		if len(cases) > 0 {
			c.Cases = slices.Clip(cases)
			out = append(out, c)
		}
	}
	return out
}
