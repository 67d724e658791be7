package risk

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/workload"
)

var directSetups = sampletest.Flag("risk.setups", 5, 5, 2, "random setups whose estimate is compared with a simulation of all that happens")

// With rates that are raised a million times, violations are frequent enough to be simulated as they come.
// Then the estimate, which simulates each fault by itself, agrees with that.
func TestEstimateAgreesWithDirectSimulation(t *testing.T) {
	racetest.Exclude(t, "it simulates hours")
	for i := range uint64(directSetups()) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(i, 1))
			s := randomSetup(t, r)
			e, err := Estimate(t.Context(), Options{Setup: s, Samples: 1500, Seed: i})
			if err != nil {
				t.Fatal(err)
			}
			const violations, longest = 60, 24 * 3600 / yearSeconds
			years := min(violations/(e.Exclusion.Expected+e.Effects.Expected), longest)
			l2, l4 := direct(t, s, time.Duration(years*yearSeconds*float64(time.Second)), r)
			for _, x := range []struct {
				name      string
				estimated Interval
				counted   int
			}{{"two holders", e.Exclusion, l2}, {"double effects", e.Effects, l4}} {
				text := fmt.Sprintf("%s: estimated %.1f (%.1f to %.1f) in this time, counted %d", x.name, x.estimated.Expected*years, x.estimated.Low*years, x.estimated.High*years, x.counted)
				// Violations of one fault come in groups, and some of them are of two faults.
				spread := 4*math.Sqrt(float64(x.counted)+1) + 0.15*float64(x.counted)
				if float64(x.counted)+spread < x.estimated.Low*years || float64(x.counted)-spread > x.estimated.High*years {
					yaml, _ := s.YAML()
					t.Errorf("%s\n%s", text, yaml)
				} else {
					t.Log(text)
				}
			}
		})
	}
}

// randomSetup has one key, and one or two kinds of fault, each about once in 150 leases.
func randomSetup(t *testing.T, r *rand.Rand) Setup {
	hold := 1 + 4*r.Float64()
	every := hold / (0.05 + 0.15*r.Float64()) // seconds between two that come
	fields := map[string]string{
		"masters": fmt.Sprint(1 + 2*r.IntN(2)), "ttl": fmt.Sprintf("%.0fs", hold*3/2+1+2*hold*r.Float64()), "hold": fmt.Sprintf("%.1fs..%.1fs", hold/2, hold*3/2),
		"acquisitions": fmt.Sprintf("%.4f", 1/every), "keys": "1", "contended": "0", "downtime": fmt.Sprintf("0s..%.1fs", hold), "client_pause": fmt.Sprintf("1s..%.0fs", 8*hold),
	}
	monthly := func(seconds float64) string { return fmt.Sprintf("%.0f", 30*86400/seconds) }
	for range 1 + r.IntN(2) {
		switch r.IntN(3) {
		case 0:
			fields["crashes"] = monthly(hold * 50)
		case 1:
			fields["client_pauses"] = fmt.Sprintf("%.1f", 3600/(hold*150))
		case 2:
			fields["clock_steps"], fields["clock_step"] = monthly(hold*150), "5s..60s"
		}
	}
	return quiet(t, fields)
}

// direct simulates all that happens in a time: clients that come at random, one after the other the same
// few, and faults at random. It counts leases that are part of a violation as the earlier one.
func direct(t *testing.T, s Setup, whole time.Duration, r *rand.Rand) (exclusion, effects int) {
	const piece = 2 * time.Hour // at a time
	holders := map[string]bool{}
	for done := time.Duration(0); done < whole; done += piece {
		h, err := campaign.Record(t.Context(), directScenario(&s, min(piece, whole-done), r), campaign.Simulation{}.Driver(), campaign.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rep := checker.Check(h, checker.MutualExclusion, checker.NoStaleWrite)
		for _, p := range rep.Results {
			for _, v := range p.Violations {
				id := fmt.Sprintf("%s %d %s", p.Name, done, v.Tokens[0])
				if p.Name == checker.MutualExclusion.Name && !holders[id] {
					exclusion++
				}
				if p.Name == checker.NoStaleWrite.Name && !holders[id] {
					effects++
				}
				holders[id] = true
			}
			if p.Count > len(p.Violations) {
				t.Fatalf("%d violations, of which only %d are listed", p.Count, len(p.Violations))
			}
		}
	}
	return exclusion, effects
}

func directScenario(s *Setup, limit time.Duration, r *rand.Rand) scenario.Scenario {
	x := sample{hold: time.Second}
	c := x.scenario(s, r.Uint64())
	c.Clients, c.Arrivals, c.Schedule, c.TimeLimit = 12, nil, nil, limit
	times := func(perSecond float64, each func(at time.Duration)) {
		for at := r.ExpFloat64() / perSecond; at < limit.Seconds(); at += r.ExpFloat64() / perSecond {
			each(time.Duration(at * float64(time.Second)))
		}
	}
	times(s.perKey(), func(at time.Duration) {
		client := workload.Clients(c.Clients)[len(c.Arrivals)%c.Clients]
		c.Arrivals = append(c.Arrivals, workload.Arrival{Client: client, At: at, Hold: s.Hold.at(r.Float64())})
	})
	for _, k := range possible(s) {
		rate := k.rate(s).Mid() / yearSeconds
		if k.name != "pause of the holder" {
			times(rate, func(at time.Duration) {
				for _, step := range k.draw(s, r.Float64(), r).steps(at) {
					if step.Fault == "clock" { // or the next step of that clock would find it stepped already
						step.For = 3 * s.Hold.Most()
					}
					if step.Clock == "" || step.Clock[0] == '+' { // the end of a step back would be one forward
						c.Schedule = append(c.Schedule, step)
					}
				}
			})
			continue
		}
		for _, client := range workload.Clients(c.Clients) { // each has its own
			times(rate, func(at time.Duration) {
				steps := k.draw(s, r.Float64(), r).steps(at)
				for i := range steps {
					steps[i].Clients = []string{client}
				}
				c.Schedule = append(c.Schedule, steps...)
			})
		}
	}
	slices.SortStableFunc(c.Schedule, func(a, b scenario.Step) int { return cmp.Compare(a.At, b.At) })
	return c
}
