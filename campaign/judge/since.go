package judge

import (
	"strings"

	"lockpick/checker"
)

// Since compares the violated properties of a run with those of the last run of the same scenario, whose seed may differ.
type Since struct {
	Run   string   `json:"run"`   // the name of that run
	New   []string `json:"new"`   // names of properties that are violated now and were not then
	Gone  []string `json:"gone"`  // that were violated then and hold now
	Still []string `json:"still"` // that are violated in both
	Open  []string `json:"open"`  // that were violated then and are neither violated now nor shown to hold
}

// SinceRun compares a result with an earlier one of the same scenario.
func SinceRun(now, then *Result) *Since {
	s := &Since{Run: then.Run}
	verdicts := func(r *Result) map[string]checker.Verdict {
		all := map[string]checker.Verdict{}
		for _, v := range r.Verdicts {
			all[v.Name] = v.Verdict
		}
		return all
	}
	is, was := verdicts(now), verdicts(then)
	for _, p := range checker.Properties {
		switch {
		case is[p.Name] == checker.Violated && was[p.Name] == checker.Violated:
			s.Still = append(s.Still, p.Name)
		case is[p.Name] == checker.Violated:
			s.New = append(s.New, p.Name)
		case was[p.Name] != checker.Violated:
		case is[p.Name] == checker.Holds:
			s.Gone = append(s.Gone, p.Name)
		default:
			s.Open = append(s.Open, p.Name)
		}
	}
	return s
}

func (s *Since) String() string {
	var parts []string
	for _, change := range []struct {
		what  string
		names []string
	}{{"new", s.New}, {"gone", s.Gone}, {"still violated", s.Still}, {"not shown to hold", s.Open}} {
		var titles []string
		for _, n := range change.names {
			titles = append(titles, checker.PropertiesOf([]string{n})[0].Level+" "+checker.TitleOf(n))
		}
		if len(titles) > 0 {
			parts = append(parts, change.what+": "+strings.Join(titles, ", "))
		}
	}
	if len(parts) == 0 {
		return s.Run + ": nothing violated in either"
	}
	return s.Run + ": " + strings.Join(parts, "; ")
}
