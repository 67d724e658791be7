package risk

import (
	"math/rand/v2"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// cause is a kind of fault that happens in production.
type cause struct {
	name string
	rate func(*Setup) Rate                             // per year, of all masters together or of one holder's process
	draw func(s *Setup, u float64, r *rand.Rand) event // u, from 0 to 1, is the quantile of its duration or size
}

// event is one drawn fault.
type event struct {
	before time.Duration // it may begin this long before an acquisition and still be in force
	window time.Duration // exposure of an acquisition, if it is not the time of its lease
	beyond time.Duration // how much longer the holder takes because of it
	steps  func(at time.Duration) []scenario.Step
}

// A year in seconds, months and hours.
const (
	yearSeconds   = 365.25 * 24 * 3600
	monthsPerYear = 12
	hoursPerYear  = 365.25 * 24
)

// ofMasters converts a rate per master and month into a rate per year of all masters.
func ofMasters(field func(*Setup) Rate) func(*Setup) Rate {
	return func(s *Setup) Rate { return field(s).times(monthsPerYear * float64(s.Masters)) }
}

// ends draws faults that end one master, or all, until they come back.
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

// causes lists all kinds of fault for which a Setup has a rate.
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

// drawFailover draws a failover. A failover removes a lease's vote only within the replica's lag
// after the vote. So the fault waits for the next grant and strikes right after it; window accounts
// for how rarely that happens.
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

// standing pauses the holder before its next act. The holder then continues without checking its
// lease.
func standing(at, d time.Duration) (steps []scenario.Step) {
	for _, point := range []string{workload.BeforeEnter, workload.BeforeWrite} {
		steps = append(steps, scenario.Step{Fault: "client-pause", At: at, For: d, Clients: []string{holder}, Point: point})
	}
	return steps
}

// possible reports whether a setup can have this cause.
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
