package risk

import (
	"math"
	"testing"
	"time"

	"lockpick/internal/racetest"
)

// quiet is a setup without faults, on one master that forgets: what a test needs it adds.
func quiet(t *testing.T, fields map[string]string) Setup {
	t.Helper()
	s := Defaults()
	for name, text := range map[string]string{
		"masters": "1", "ttl": "30s", "hold": "20s", "acquisitions": "2", "contended": "0.2", "restarts": "0", "crashes": "0", "power_failures": "0", "site_failures": "0",
		"clock_steps": "0", "partitions": "0", "client_pauses": "0", "downtime": "0s",
	} {
		set(t, &s, name, text)
	}
	for name, text := range fields {
		set(t, &s, name, text)
	}
	return s
}

func set(t *testing.T, s *Setup, name, text string) {
	t.Helper()
	if err := s.Set(name, text); err != nil {
		t.Fatal(err)
	}
}

func estimate(t *testing.T, s Setup, samples int) *Result {
	t.Helper()
	r, err := Estimate(t.Context(), Options{Setup: s, Samples: samples, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Where the number of violations can be calculated, the simulation agrees: up to the time that the lock
// takes for its attempts, which the formulas leave out.
func TestClosedForms(t *testing.T) {
	racetest.Exclude(t, "it simulates thousands of campaigns")
	const others = 0.2 / 20       // clients per second who come for a key that is used
	const waited = 0.2 * 20 / 1.6 // seconds that they wait, on average
	for _, c := range []struct {
		name    string
		fields  map[string]string
		want    float64 // per year
		effects bool
	}{
		// Whoever came by then, or comes before the holder is done, is granted the lock once the master is
		// back: acquisitions × crashes × (20 s - 5 s) × P(somebody comes within 20 s).
		{"a master that forgets", map[string]string{"crashes": "1", "downtime": "5s"}, 2 * 12 * 15 * -math.Expm1(-others*(20+waited)), false},
		// The fault strikes while the replica lacks the key.
		{"a failover", map[string]string{"replicas": "1", "failovers": "1", "replication_lag": "10ms", "downtime": "5s"}, 2 * 12 * 0.010 * -math.Expm1(-others*(20+waited)), false},
		// A pause of 10 minutes at a random moment of the section, in the mean 10 s after its beginning.
		{"a pause", map[string]string{"client_pauses": "0.01", "client_pause": "600s"}, 2 * 0.01 * hoursPerYear * 20 * -math.Expm1(-others*(600+waited)), true},
		// The master believes the lease over: a step forward beyond the rest of the TTL.
		{"a clock step", map[string]string{"clock_steps": "1", "clock_step": "60s"}, 2 * 12 * 20 / 2 * -math.Expm1(-others*(20+waited)), false},
		// Sections last 20 s, leases 10 s. A client that asks for the key in the first 14 s or so is granted it once
		// the lease is over, and writes before the section ends.
		{"a lease that is too short", map[string]string{"ttl": "10s", "hold": "20s"}, 2 * yearSeconds * -math.Expm1(-others*(14+waited)), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := estimate(t, quiet(t, c.fields), 150)
			got := r.Exclusion
			if c.effects {
				got = r.Effects
			}
			const rough = 0.08
			if got.Low > c.want*(1+rough) || got.High < c.want*(1-rough) {
				t.Errorf("estimated %.4g (%.4g to %.4g), calculated %.4g", got.Expected, got.Low, got.High, c.want)
			}
		})
	}
}

// What theory calls safe is violated by nothing, and the bound says how sure that is.
func TestSafeSetups(t *testing.T) {
	racetest.Exclude(t, "it simulates hundreds of campaigns")
	for _, fields := range []map[string]string{
		{"masters": "3", "persistence": "always", "restarts": "100", "crashes": "100", "partitions": "100"},
		{"masters": "3", "persistence": "none", "restarts": "100", "restart_delay": "33s"},
		{"masters": "3", "fencing": "true", "client_pauses": "1", "client_pause": "60s"},
	} {
		s := quiet(t, fields)
		r := estimate(t, s, 50)
		if r.Exclusion.Expected != 0 || s.Fencing && r.Effects.Expected != 0 {
			t.Errorf("%v: %+v, %+v", fields, r.Exclusion, r.Effects)
		}
		if r.Exclusion.High <= 0 {
			t.Errorf("%v: 0 without a bound", fields)
		}
	}
}

// More faults and longer ones never lower the risk.
func TestRiskGrowsWithItsCauses(t *testing.T) {
	few := estimate(t, quiet(t, map[string]string{"crashes": "1"}), 100)
	many := estimate(t, quiet(t, map[string]string{"crashes": "3"}), 100)
	if few.Exclusion.Expected == 0 || many.Exclusion.Expected < 2.9*few.Exclusion.Expected {
		t.Errorf("with three times as many crashes the risk is %v instead of %v", many.Exclusion, few.Exclusion)
	}
	before := Interval{}
	for _, d := range []time.Duration{10 * time.Second, 40 * time.Second, 160 * time.Second} {
		r := estimate(t, quiet(t, map[string]string{"client_pauses": "1", "client_pause": d.String()}), 100)
		if r.Effects.High < before.Low {
			t.Errorf("with pauses of %v the risk is %v, with shorter ones it was %v", d, r.Effects, before)
		}
		before = r.Effects
	}
	if before.Low == 0 {
		t.Error("pauses of 160s violate nothing")
	}
}
