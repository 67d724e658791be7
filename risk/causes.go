package risk

import (
	"math/rand/v2"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// cause is a kind of fault as it comes in production.
type cause struct {
	name string
	rate func(*Setup) Rate                             // per year: of all masters together, or of the process of one holder
	draw func(s *Setup, u float64, r *rand.Rand) event // u, from 0 to 1, says how long or how large it is
}

// event is one fault that was drawn.
type event struct {
	before time.Duration // it may have begun this long before an acquisition, and be there still
	window time.Duration // how long an acquisition is exposed, if that is not the time of its lease
	beyond time.Duration // how much longer it makes the holder take
	steps  func(at time.Duration) []scenario.Step
}

// The hours, days and months of a year.
const (
	yearSeconds   = 365.25 * 24 * 3600
	monthsPerYear = 12
	hoursPerYear  = 365.25 * 24
)

// ofMasters is a rate per master and month as one per year of all masters.
func ofMasters(field func(*Setup) Rate) func(*Setup) Rate {
	return func(s *Setup) Rate { return field(s).times(monthsPerYear * float64(s.Masters)) }
}

// ends makes the causes in which masters end and come back.
func ends(kind string, all bool) func(*Setup, float64, *rand.Rand) event {
	return func(s *Setup, u float64, r *rand.Rand) event {
		down := max(s.Downtime.at(u), s.RestartDelay)
		hit := []string{masterName(s, r)}
		if all {
			hit = workload.MasterNames(s.Masters)
		}
		return event{before: down, steps: func(at time.Duration) []scenario.Step {
			return []scenario.Step{{Fault: kind, At: at, For: down, Masters: hit}}
		}}
	}
}

func masterName(s *Setup, r *rand.Rand) string {
	return workload.MasterNames(s.Masters)[r.IntN(s.Masters)]
}

// causes are all kinds of fault for which a Setup has a rate.
var causes = []cause{
	{"restart of a master", ofMasters(func(s *Setup) Rate { return s.Restarts }), ends("shutdown", false)},
	{"crash of a master's process", ofMasters(func(s *Setup) Rate { return s.Crashes }), ends("kill", false)},
	{"power failure of a master", ofMasters(func(s *Setup) Rate { return s.PowerFailures }), ends("powercut", false)},
	{"power failure of all masters", func(s *Setup) Rate { return s.SiteFailures.times(monthsPerYear) }, ends("powercut", true)},
	{"failover to a replica", ofMasters(func(s *Setup) Rate { return s.Failovers }), drawFailover},
	{"clock step of a master", ofMasters(func(s *Setup) Rate { return s.ClockSteps }), drawClockStep},
	{"partition of a master", ofMasters(func(s *Setup) Rate { return s.Partitions }), drawPartition},
	{"pause of the holder", func(s *Setup) Rate { return s.ClientPauses.times(hoursPerYear) }, drawClientPause},
}

// drawFailover: a failover takes a lease's vote only within the replica's lag after it was given. The
// fault waits for the next grant and strikes just then; how rarely a failover does is its window.
func drawFailover(s *Setup, u float64, r *rand.Rand) event {
	m, outage := masterName(s, r), max(s.Downtime.at(r.Float64()), time.Millisecond)
	return event{window: s.ReplicationLag.at(u), steps: func(at time.Duration) []scenario.Step {
		return []scenario.Step{{Fault: "failover", At: at, Masters: []string{m}, Outage: outage}}
	}}
}

func drawClockStep(s *Setup, u float64, r *rand.Rand) event {
	m, sign := masterName(s, r), "+"
	if r.IntN(2) == 0 {
		sign = "-"
	}
	size := s.ClockStep.at(u).Round(time.Millisecond)
	return event{steps: func(at time.Duration) []scenario.Step {
		if size == 0 {
			return nil
		}
		return []scenario.Step{{Fault: "clock", At: at, For: 24 * time.Hour, Masters: []string{m}, Clock: sign + size.String()}}
	}}
}

func drawPartition(s *Setup, u float64, r *rand.Rand) event {
	m, d := masterName(s, r), s.Partition.at(u)
	return event{before: d, steps: func(at time.Duration) []scenario.Step {
		return []scenario.Step{{Fault: "partition", At: at, For: d, Masters: []string{m}, Clients: []string{nemesis.All}, Direction: nemesis.Both}}
	}}
}

func drawClientPause(s *Setup, u float64, _ *rand.Rand) event {
	d := s.ClientPause.at(u)
	return event{beyond: d, steps: func(at time.Duration) []scenario.Step { return standing(at, d) }}
}

// standing makes the holder do nothing for a time and then go on where it was, without a look at its
// lease: it stands before its next act.
func standing(at, d time.Duration) (steps []scenario.Step) {
	for _, point := range []string{workload.BeforeEnter, workload.BeforeWrite} {
		steps = append(steps, scenario.Step{Fault: "client-pause", At: at, For: d, Clients: []string{holder}, Point: point})
	}
	return steps
}

// possible says whether a setup has a cause at all.
func (c *cause) possible(s *Setup) bool {
	if c.rate(s).High <= 0 {
		return false
	}
	for _, step := range c.draw(s, 1, rand.New(rand.NewPCG(1, 1))).steps(0) {
		if fault.Of(step.Fault).Needs == fault.Replicas && s.Replicas == 0 {
			return false
		}
	}
	return true
}
