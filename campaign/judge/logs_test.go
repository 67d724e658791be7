package judge_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/logs"
)

// logLine is a line of a generated log, with the time of its clock that orders the file.
type logLine struct {
	at   time.Time
	text string
}

// written writes the lines of some files, each in the order of its times unless they are mixed.
func written(files map[string][]logLine, mixed func(string, []logLine)) (names []string, content map[string]string) {
	content = map[string]string{}
	for name, lines := range files {
		slices.SortStableFunc(lines, func(a, b logLine) int { return a.at.Compare(b.at) })
		mixed(name, lines)
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l.text + "\n")
		}
		names = append(names, name)
		content[name] = b.String()
	}
	slices.Sort(names)
	return names, content
}

// readLogs reads the files of a log. Its error is that nothing in them can be judged.
func readLogs(t interface{ Fatal(...any) }, o logs.Options, names []string, content map[string]string) (*logs.Log, error) {
	im, err := logs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := im.Read(name, strings.NewReader(content[name])); err != nil {
			t.Fatal(err)
		}
	}
	return im.Log()
}

func importLogs(t interface{ Fatal(...any) }, o logs.Options, names []string, content map[string]string) *logs.Log {
	l, err := readLogs(t, o, names, content)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// skewedLog is a log of a correct lock on hosts whose clocks are off.
type skewedLog struct {
	skew    time.Duration // of each clock, at most
	lossy   bool          // lines are missing, doubled and out of order
	overlap time.Duration // how long the lock is wrong once
	within  bool          // clients release before their leases end
}

// draw makes a log: who held which lock is disjoint in true time, but for one overlap if there
// shall be one.
func (s skewedLog) draw(t *rapid.T) (names []string, content map[string]string) {
	type host struct {
		name   string
		offset time.Duration
		drift  time.Duration // by the end
		digits int
		style  string
	}
	const length = time.Minute
	start := time.Date(2026, 11, 22, 12, 0, 0, rapid.IntRange(0, 999_999_999).Draw(t, "start"), time.UTC)
	if s.overlap > 0 { // no round times: they look as if they had few digits
		start = time.Date(2026, 11, 22, 12, 0, 0, 123_456_789, time.UTC)
	}
	var hosts []host
	for i := range rapid.IntRange(2, 4).Draw(t, "hosts") {
		h := host{name: fmt.Sprintf("host-%c", 'a'+i), digits: rapid.SampledFrom([]int{0, 1, 3, 3, 6, 9}).Draw(t, "digits"), style: rapid.SampledFrom([]string{"iso", "epoch", "ms"}).Draw(t, "style")}
		if s.overlap > 0 {
			h.digits = max(h.digits, 3)
		}
		h.offset = time.Duration(rapid.Int64Range(int64(-s.skew), int64(s.skew)).Draw(t, "offset"))
		if rapid.Bool().Draw(t, "extreme") {
			h.offset = s.skew * time.Duration(1-2*(i%2))
		}
		h.drift = time.Duration(rapid.Int64Range(int64(-s.skew-h.offset), int64(s.skew-h.offset)).Draw(t, "drift"))
		hosts = append(hosts, h)
	}
	files := map[string][]logLine{}
	// clock is what a host's clock shows at a true time.
	clock := func(h host, at time.Duration) time.Time {
		return start.Add(at + h.offset + time.Duration(float64(h.drift)*min(1, float64(at)/float64(length))))
	}
	show := func(h host, at time.Time) any {
		step := time.Second
		for range h.digits {
			step /= 10
		}
		at = at.Truncate(step)
		if s.overlap > 0 && at.Nanosecond()%int(10*step) == 0 {
			at = at.Add(step) // a source whose only time is round looks as if it had fewer digits
		}
		switch {
		case h.style == "iso":
			return at.Format("2006-01-02T15:04:05." + strings.Repeat("0", h.digits) + "Z")[:19+map[bool]int{true: 0, false: 1 + h.digits}[h.digits == 0]] + "Z"
		case h.style == "ms" && h.digits == 3:
			return json.Number(fmt.Sprint(at.UnixMilli()))
		}
		return json.Number(fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()))
	}
	emit := func(h host, at time.Duration, fields map[string]any) {
		if s.lossy && rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
			return
		}
		fields["host"] = h.name
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		l := logLine{clock(h, at), string(text)}
		files[h.name+".log"] = append(files[h.name+".log"], l)
		if s.lossy && rapid.IntRange(0, 9).Draw(t, "twice") == 0 {
			files["copy.log"] = append(files["copy.log"], l)
		}
	}
	n, wrong := 0, s.overlap > 0
	for key := range rapid.IntRange(1, 2).Draw(t, "keys") {
		free := time.Duration(0)
		for range rapid.IntRange(5, 15).Draw(t, "holds") {
			n++
			h := rapid.SampledFrom(hosts).Draw(t, "host")
			millis := func(from, to int, what string) time.Duration {
				return time.Duration(rapid.IntRange(from*1000, to*1000).Draw(t, what)) * time.Microsecond
			}
			set := free + millis(0, 30, "until asked")
			asked := max(0, set-millis(0, 5, "to the master"))
			granted := set + millis(0, 20, "from the master")
			held := millis(0, 900, "held")
			ttl := millis(50, 2000, "TTL")
			if s.overlap > 0 {
				held, ttl = s.overlap+millis(500, 900, "held long"), time.Minute
			}
			until := set + ttl // the master's key is gone then
			if s.within {
				held = min(held, until-granted)
			}
			release := granted + held
			name := fmt.Sprint("k", key)
			base := map[string]any{"key": name, "token": fmt.Sprint("t", n), "client": fmt.Sprint("c", n%5)}
			with := func(more map[string]any) map[string]any {
				all := map[string]any{}
				for _, m := range []map[string]any{base, more} {
					for k, v := range m {
						all[k] = v
					}
				}
				return all
			}
			lease := map[string]any{"ttl": ttl.String(), "requested": show(h, clock(h, asked))}
			if rapid.Bool().Draw(t, "says until") {
				lease = map[string]any{"valid_until": show(h, clock(h, asked).Add(ttl))}
			}
			if rapid.Bool().Draw(t, "whole") {
				lease["acquired"], lease["releasing"] = show(h, clock(h, granted)), show(h, clock(h, release))
				emit(h, release, with(lease))
			} else {
				lease["time"], lease["event"] = show(h, clock(h, granted)), "acquired"
				emit(h, granted, with(lease))
				emit(h, release, with(map[string]any{"time": show(h, clock(h, release)), "event": "releasing"}))
			}
			// The release reaches the master some time after it was called.
			free = min(release+millis(0, 10, "the release's way"), until)
			if wrong {
				free, wrong = release-s.overlap-40*time.Millisecond, false
			}
			free = max(free, set)
		}
	}
	return written(files, func(_ string, lines []logLine) {
		if s.lossy && len(lines) > 1 && rapid.Bool().Draw(t, "mix") {
			mix := rapid.Permutation(lines).Draw(t, "order")
			copy(lines, mix)
		}
	})
}

// TestSkewedClocksConvictNobody: a log of a correct lock, written by hosts whose clocks are off
// by up to 50 ms and drift, with few digits, lines missing, doubled and out of order, is never
// a violation if the clock error is given. Taken at its word it often would be.
func TestSkewedClocksConvictNobody(t *testing.T) {
	limit, none := 50*time.Millisecond, time.Duration(0)
	naive := map[logs.Format]int{}
	rapid.Check(t, func(t *rapid.T) {
		within := rapid.Bool().Draw(t, "within")
		names, content := skewedLog{skew: limit, within: within, lossy: rapid.Bool().Draw(t, "lossy")}.draw(t)
		if len(names) == 0 {
			return
		}
		o, content := inFormat(rapid.SampledFrom(logs.Formats).Draw(t, "format"), content)
		o.ClockError = &limit
		l, err := readLogs(t, o, names, content)
		if err != nil {
			return // nothing but releases is left
		}
		_, r, err := judge.Logs(l)
		if err != nil {
			t.Fatal(err)
		}
		if !within { // a client that works on after the end of its lease violates L3
			r.SetProperties([]string{checker.MutualExclusion.Level})
		}
		if r.Overall == checker.Violated {
			t.Fatalf("convicted: %s\n%v", r.Why, content)
		}
		o.ClockError = &none
		_, r, err = judge.Logs(importLogs(t, o, names, content))
		if err != nil {
			t.Fatal(err)
		}
		if r.Overall == checker.Violated {
			naive[o.Format]++
		}
	})
	if len(naive) == 0 {
		t.Error("with a clock error of 0 no log was convicted either: the logs are too tame to show anything")
	}
	t.Logf("%v logs would have been convicted with a clock error of 0", naive)
}

// TestSkewedClocksHideNoLongOverlap: an overlap of more than twice the clock error and what the
// digits hide is found, whatever the clocks do.
func TestSkewedClocksHideNoLongOverlap(t *testing.T) {
	limit := 50 * time.Millisecond
	rapid.Check(t, func(t *rapid.T) {
		// Each end is off by the skew once and shortened by the error once; the rest is for the
		// digits.
		names, content := skewedLog{skew: limit, overlap: 4*limit + 150*time.Millisecond}.draw(t)
		o, content := inFormat(rapid.SampledFrom(logs.Formats).Draw(t, "format"), content)
		o.ClockError = &limit
		_, r, err := judge.Logs(importLogs(t, o, names, content))
		if err != nil {
			t.Fatal(err)
		}
		if r.Overall != checker.Violated {
			t.Fatalf("%s (%s), want violated\n%v", r.Overall, r.Why, content)
		}
	})
}

// exported are the holds of a history as a log of three kinds.
var exported = []struct {
	name    string
	options logs.Options
	export  func(*history.History, []*history.Lease) string
}{
	{"jsonl events", logs.Options{
		Format: logs.JSONL, Map: map[string]string{"time": "ts", "event": "msg", "key": "lock.name", "token": "lock.token", "client": "proc", "valid_until": "lock.until"},
		Events: map[string]string{"got it": "acquired", "extended it": "extended", "giving it back": "releasing"},
	}, func(h *history.History, leases []*history.Lease) string {
		var b strings.Builder
		write := func(l *history.Lease, what string, at, until time.Duration) {
			lock := map[string]any{"name": l.Key, "token": l.Token}
			if until != 0 {
				lock["until"] = h.Header.Started.Add(until).UnixNano()
			}
			text, _ := json.Marshal(map[string]any{"ts": h.Header.Started.Add(at).UnixNano(), "msg": what, "proc": l.Process, "lock": lock})
			b.Write(append(text, '\n'))
		}
		for _, l := range leases {
			for i, g := range l.Grants {
				write(l, []string{"got it", "extended it"}[min(i, 1)], g.At, g.Until)
			}
			if l.ReleaseIndex >= 0 {
				write(l, "giving it back", l.Released, 0)
			}
		}
		return b.String()
	}},
	{"otlp spans", logs.Options{
		Format: logs.OTLP, Map: map[string]string{"key": "lock.key", "token": "lock.token", "client": "service.instance.id", "valid_until": "lock.until"},
		Events: map[string]string{"Lock": "acquire", "Extend": "extend", "Unlock": "release"},
	}, func(h *history.History, leases []*history.Lease) string {
		var b strings.Builder
		span := func(l *history.Lease, name string, from, to, until time.Duration) {
			nano := func(at time.Duration) string { return fmt.Sprint(h.Header.Started.Add(at).UnixNano()) }
			text := func(s string) map[string]any { return map[string]any{"stringValue": s} }
			attributes := []map[string]any{{"key": "lock.key", "value": text(l.Key)}, {"key": "lock.token", "value": text(l.Token)}}
			if until != 0 {
				attributes = append(attributes, map[string]any{"key": "lock.until", "value": map[string]any{"intValue": nano(until)}})
			}
			line, _ := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
				"resource":   map[string]any{"attributes": []any{map[string]any{"key": "service.instance.id", "value": text(l.Process)}}},
				"scopeSpans": []any{map[string]any{"spans": []any{map[string]any{"name": name, "startTimeUnixNano": nano(from), "endTimeUnixNano": nano(to), "attributes": attributes}}}},
			}}})
			b.Write(append(line, '\n'))
		}
		for _, l := range leases {
			for i, g := range l.Grants {
				from := l.Invoked
				if i > 0 {
					from = g.At
				}
				span(l, []string{"Lock", "Extend"}[min(i, 1)], from, g.At, g.Until)
			}
			if l.ReleaseIndex >= 0 {
				span(l, "Unlock", l.Released, l.Released+time.Millisecond, 0)
			}
		}
		return b.String()
	}},
	{"csv holds", logs.Options{
		Format: logs.CSV, Map: map[string]string{"acquired": "from", "releasing": "to", "valid_until": "expires", "key": "name", "client": "who"}, Delimiter: ';',
	}, func(h *history.History, leases []*history.Lease) string {
		var b strings.Builder
		b.WriteString("name;who;token;from;to;expires\n")
		iso := func(at time.Duration) string {
			return h.Header.Started.Add(at).UTC().Format("2006-01-02 15:04:05.000000000+00:00")
		}
		for _, l := range leases {
			to := ""
			if l.ReleaseIndex >= 0 {
				to = iso(l.Released)
			}
			fmt.Fprintf(&b, "%s;%s;%s;%s;%s;%s\n", l.Key, l.Process, l.Token, iso(l.Acquired()), to, iso(l.Until()))
		}
		return b.String()
	}},
}

// TestExportedLogsShowTheSameViolations: what a violated run's own history shows is found in
// logs of it, of three kinds with other names for everything.
func TestExportedLogsShowTheSameViolations(t *testing.T) {
	none := time.Duration(0)
	for seed := range uint64(3) {
		s := scenario.Defaults()
		s.Driver, s.Lock, s.Seed, s.Persistence, s.Faults, s.TimeLimit = scenario.Sim, "redlock", seed, "none", []string{"kill"}, time.Minute
		h := simulated(t, s.WithRequirements())
		leases := history.Leases(h.Ops)
		result := checker.Check(h, checker.MutualExclusion).Results[0]
		want := overlapsOf(result.Violations)
		if len(want) == 0 {
			t.Fatalf("seed %d violates nothing: the run shows nothing", seed)
		}
		for _, e := range exported {
			o := e.options
			o.ClockError = &none
			_, r, err := judge.Logs(importLogs(t, o, []string{"app.log"}, map[string]string{"app.log": e.export(h, leases)}))
			if err != nil {
				t.Fatal(err)
			}
			if got := overlapsOf(r.Verdicts[0].Violations); !slices.Equal(got, want) {
				t.Errorf("seed %d, %s: violations\n%v, want\n%v", seed, e.name, got, want)
			}
			if r.Overall != checker.Violated || r.Verdicts[0].Count != result.Count {
				t.Errorf("seed %d, %s: %s with %d violations, want violated with %d", seed, e.name, r.Overall, r.Verdicts[0].Count, result.Count)
			}
			for _, v := range r.Verdicts[0].Violations {
				if steps := strings.Join(v.Steps(), "\n"); !strings.Contains(steps, "according to app.log:") {
					t.Errorf("%s: the violation does not name lines of the log:\n%s", e.name, steps)
				}
			}
		}
	}
}

// overlapsOf names violations by key, clients and tokens.
func overlapsOf(violations []narrative.Violation) []string {
	var all []string
	for _, v := range violations {
		all = append(all, fmt.Sprint(v.Key, v.Clients, v.Tokens))
	}
	slices.SortFunc(all, cmp.Compare)
	return all
}
