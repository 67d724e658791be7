package risk

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lockpick/internal/inputs"
)

func TestTimes(t *testing.T) {
	for text, want := range map[string]struct{ median, most time.Duration }{
		"50ms":                           {50 * time.Millisecond, 50 * time.Millisecond},
		"1s..3s":                         {2 * time.Second, 3 * time.Second},
		"p50=20ms,p99=1s,max=5s":         {20 * time.Millisecond, 5 * time.Second},
		"min=10ms,p50=20ms,max=30ms":     {20 * time.Millisecond, 30 * time.Millisecond},
		"50ms:0.5,1s:0.5":                {50 * time.Millisecond, time.Second},
		"50ms:5000, 1s:4000, 2s:1000":    {50 * time.Millisecond, 2 * time.Second},
		"p10=1ms,p50=2ms,p90=3ms,max=4s": {2 * time.Millisecond, 4 * time.Second},
	} {
		d, err := ParseTimes(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := d.at(0.5).Round(time.Microsecond); got != want.median || d.Most() != want.most {
			t.Errorf("%s: median %v, longest %v", text, got, d.Most())
		}
	}
	if d, _ := ParseTimes("1s..3s"); d.Mean() != 2*time.Second {
		t.Errorf("the mean of 1s..3s is %v", d.Mean())
	}
}

// Each error says what is wrong, and where in a file.
func TestBadSetups(t *testing.T) {
	for text, want := range map[string]string{
		"hold: soon":                         "is not a distribution of times",
		"hold: p50=1s":                       "max=",
		"hold: p50=2s,p99=1s,max=3s":         "must grow",
		"crashes: -1":                        "is not a rate",
		"crashes: 0..3":                      "logarithmic",
		"crashes: NaN":                       "is not a rate",
		"failovers: 1":                       "1:12: failovers: a failover needs replicas",
		"locks: redlock":                     "unknown field",
		"masters: 40":                        "1:10: masters: 40 is out of range",
		"contended: 1.5":                     "contended: 1.5 is out of range",
		"contended: 0\nacquisitions: 1e6":    "are more than 1000 keys can have",
		"lock: nolock":                       "lock: ",
		"ttl: 1ms":                           "ttl: 1ms is out of range",
		"a: &a [*a]":                         "1:",
		"replicas: 1\nwait: 2\nttl: 20s":     "wait: 2 is out of range",
		"hold: 0s":                           "hold: critical sections take some time",
		"acquisitions: .inf":                 "acquisitions",
		"restart_delay: 2h\npersistence: no": "persistence",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if s, err := Parse([]byte("masters: 3\ncrashes: 1..4\nhold: 50ms:0.9,1s:0.1\n")); err != nil || s.Masters != 3 || s.Crashes != (Rate{1, 4}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// What YAML writes, Parse reads.
func FuzzSetup(f *testing.F) {
	for _, s := range setups {
		f.Add(s)
	}
	f.Fuzz(checkSetup)
}

func checkSetup(t *testing.T, text string) {
	s, err := Parse([]byte(text))
	if err != nil {
		return
	}
	again, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Parse(again)
	if err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	if a, b := strings.Join(s.Values(), "|"), strings.Join(other.Values(), "|"); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// The interval of one part is the exact one: 0 of 10, 5 of 10, 10 of 10 (Clopper and Pearson, 1934).
func TestIntervals(t *testing.T) {
	r := randomForTest()
	for _, c := range []struct {
		hits      int
		low, high float64
	}{{0, 0, 0.3085}, {5, 0.1871, 0.8129}, {10, 0.6915, 1}} {
		got := sum([]part{{hits: c.hits, n: 10, weight: 1}}, nil, r)
		if abs(got.Low-c.low) > 0.02 || abs(got.High-c.high) > 0.02 {
			t.Errorf("%d of 10: %v", c.hits, got)
		}
	}
	// A range of rates widens it.
	narrow := sum([]part{{hits: 500, n: 1000, weight: 1, rates: []int{0}}}, []Rate{{1, 1}}, r)
	wide := sum([]part{{hits: 500, n: 1000, weight: 1, rates: []int{0}}}, []Rate{{0.1, 10}}, r)
	if wide.Low > narrow.Low/5 || wide.High < narrow.High*5 {
		t.Errorf("with a rate of 0.1 to 10 the interval is %v, with 1 it is %v", wide, narrow)
	}
}

func randomForTest() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func abs(x float64) float64 { return max(x, -x) }

var setups = []string{
	"masters: 3\nhold: p50=1s,max=2s\ncrashes: 0.5..2\n",
	"ttl: 5s\nreplicas: 1\nfailovers: 1\n",
}

// TestManyInputs is the same of many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzSetup", func(t *testing.T) {
		inputs.Try(t, "FuzzSetup", inputs.Texts(setups), func(t *testing.T, b []byte) { checkSetup(t, string(b)) })
	})
}
