package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/cluster"
	"lockpick/history"
)

// TestSchedule prints what schedules do, from the directive "run" with masters=5 and
// until=20s, and a script of steps and of what happens meanwhile:
//
//	step kill at=1s for=2s masters=m1,m2    also: after=c1_acquires_k0 plus= clients= mode= direction= delay= point=
//	1s grant c1 k0 t1 m1,m2,m3              masters vote, the client has a lease
//	1s release c1 k0 t1
//	1s enter|write|extend c1 k0 t1
//	1s ask c1 m1                            a lock command, which may stay without a reply
//	1s pass c1 before-write                 the client comes to a point
//	1s set m1 durable|deaf|noStart|noPause|starts
//	1s set c1 deaf                          it never hears what its clocks are to be
//
// The printed history is that of the nemesis and of the masters' states.
func TestSchedule(t *testing.T) {
	datadriven.Walk(t, "testdata/schedule", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out string
			synctest.Test(t, func(t *testing.T) { out = runScript(t, d) })
			return out
		})
	})
}

func runScript(t *testing.T, d *datadriven.TestData) string {
	masters, until := 5, "20s"
	d.MaybeScanArgs(t, "masters", &masters)
	d.MaybeScanArgs(t, "until", &until)
	s := on(t, masters, 3, 1)
	var steps []Step
	for text := range strings.Lines(d.Input) {
		words := strings.Fields(text)
		if words[0] == "step" {
			steps = append(steps, scriptStep(t, words[1:]))
			if err := steps[len(steps)-1].Check(masters, s.env.Clients, []string{"before-enter", "before-write"}); err != nil {
				t.Fatalf("%s%v", text, err)
			}
			continue
		}
		at, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatalf("%s%v", text, err)
		}
		s.at(at, func() { s.fire(words[1:]) })
	}
	end, err := time.ParseDuration(until)
	if err != nil {
		t.Fatal(err)
	}
	s.Schedule(s.ending(end), steps)
	took := s.now()
	var b strings.Builder
	shown := slices.DeleteFunc(s.recorded(), func(op history.Op) bool { return op.Process != history.Nemesis && op.F != history.FState })
	for _, op := range shown {
		fmt.Fprintln(&b, line(op))
	}
	s.faults(t)
	fmt.Fprintf(&b, "over after %v; %s\n", took, strings.Join(append(s.cluster.hurt(), fmt.Sprintf("%d orders left", s.pauses.open())), ", "))
	return b.String()
}

func scriptStep(t *testing.T, words []string) Step {
	s := Step{Fault: words[0]}
	for _, w := range words[1:] {
		name, text, _ := strings.Cut(w, "=")
		duration := func() time.Duration {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		switch name {
		case "at":
			s.At = duration()
		case "plus":
			s.Plus = duration()
		case "for":
			s.For = duration()
		case "delay":
			s.Delay = duration()
		case "after":
			s.After = strings.ReplaceAll(text, "_", " ")
		case "masters":
			s.Masters = strings.Split(text, ",")
		case "clients":
			s.Clients = strings.Split(text, ",")
		case "mode":
			s.Mode = cluster.Mode(text)
		case "direction":
			s.Direction = text
		case "point":
			s.Point = text
		case "clock":
			s.Clock = text
		case "rate":
			rate, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			s.Rate = rate
		case "torn":
			s.Torn = text == "true"
		case "repeat":
			s.Repeat = text == "true"
		default:
			t.Fatalf("unknown field %q", w)
		}
	}
	return s
}

// happen is one line of a script, without its time.
func (s *stage) fire(words []string) {
	record := func(f string, t history.Type) {
		s.history.Record(history.Op{Process: words[1], Type: t, F: f, Key: words[2], Value: &history.Value{Token: words[3], ValidUntil: s.now() + ttl}})
	}
	switch words[0] {
	case "grant":
		s.grant(words[1], words[2], words[3], strings.Split(words[4], ",")...)
	case "release":
		s.release(words[1], words[2], words[3])
	case "enter":
		record(history.FEnter, history.Info)
	case "write":
		record(history.FWrite, history.OK)
	case "extend":
		record(history.FExtend, history.OK)
	case "ask":
		s.ask(words[1], words[2])
	case "pass":
		s.pauses.pass(words[1], words[2])
	case "set":
		if words[1] == "c1" {
			s.pauses.setDeaf("c1")
			return
		}
		m := s.cluster.master(words[1])
		m.mu.Lock()
		defer m.mu.Unlock()
		for name, field := range map[string]*bool{"durable": &m.durable, "deaf": &m.deaf, "noStart": &m.noStart, "noPause": &m.noPause} {
			if name == words[2] {
				*field = true
			}
		}
		if words[2] == "starts" {
			m.noStart = false
		}
	default:
		panic("unknown: " + strconv.Quote(strings.Join(words, " ")))
	}
}

// eager lets what it spawns run before its caller goes on.
type eager struct{ cluster.Runtime }

func (e eager) Go(f func()) {
	e.Runtime.Go(f)
	time.Sleep(time.Nanosecond)
}

// TestTriggersAreSetFirst: a step at time 0 triggers those that stand behind it,
// however soon it is carried out.
func TestTriggersAreSetFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, 3, 1, 1)
		s.env.Runtime = eager{s.env.Runtime}
		s.Schedule(s.ending(5*time.Second), []Step{
			{Fault: "partition", For: time.Second, Masters: []string{"m1"}},
			{Fault: "partition", For: time.Second, Masters: []string{"m2"}, After: "step 1"},
		})
		for _, f := range s.faults(t) {
			if !f.Installed || f.Began > time.Millisecond {
				t.Errorf("%+v", f)
			}
		}
	})
}

// TestMastersStayDownForTheRestartDelay: also if the run ends meanwhile, unless it is interrupted.
func TestMastersStayDownForTheRestartDelay(t *testing.T) {
	for _, c := range []struct {
		interrupted bool
		want        time.Duration
	}{{false, 11 * time.Second}, {true, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := on(t, 1, 1, 1)
			s.env.RestartDelay = 10 * time.Second
			if c.interrupted {
				running, interrupt := context.WithCancel(t.Context())
				s.env.Running = running
				s.at(3*time.Second, interrupt)
			}
			s.Schedule(s.ending(2*time.Second), []Step{{Fault: "kill", At: time.Second, For: 20 * time.Second, Masters: []string{"m1"}}})
			if over := s.now().Truncate(time.Second); over != c.want {
				t.Errorf("interrupted %v: over after %v, want %v", c.interrupted, over, c.want)
			}
			s.settled(t)
		})
	}
}
