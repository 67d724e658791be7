package logs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/internal/plural"
)

// name returns a line as file:line.
func (im *Importer) name(at place) string { return fmt.Sprintf("%s:%d", im.files[at.file], at.line) }

// nothing returns an error that says why a log contains no event of a lock.
func (im *Importer) nothing() error {
	var why []string
	if im.lines == 0 {
		return errors.New("the log is empty")
	}
	if im.unmatched == im.lines {
		return fmt.Errorf("the pattern %s matches no line of the log; the first is %s", im.opt.Pattern, im.differs)
	}
	if im.other.count > 0 {
		kind, what := "acquired", "lines"
		if im.opt.Format == OTLP {
			kind, what = "acquire", "spans"
		}
		if im.other.count == 1 {
			what = strings.TrimSuffix(what, "s") + " is"
		} else {
			what += " are"
		}
		why = append(why, fmt.Sprintf("%d %s about something else (%s): name what is about a lock with --event, as in --event %s",
			im.other.count, what, strings.Join(quoted(im.other.values), ", "), shellWord(kind+"="+im.other.values[0])))
	}
	for _, p := range im.flaws.problems(im.name) {
		why = append(why, p.String())
	}
	needs := "no line has event and time, or acquired: name the fields with --map"
	if im.opt.Format == OTLP {
		needs = "no span has a name that --event or the built-in names (lock.acquire, lock.extend, lock.release, lock.hold) know: name the spans with --event"
	}
	if len(why) == 0 || im.other.count == 0 && !im.there[fieldEvent] && !im.there[fieldAcquired] {
		why = append([]string{needs}, why...)
	}
	text := fmt.Sprintf("the log has no event of a lock in %s: %s", plural.Count(im.lines, "line", "lines"), strings.Join(why, "; "))
	if len(im.fields.names) > 0 {
		text += "; " + im.fieldsThere()
	}
	return errors.New(text)
}

// shellWord quotes a text as one word of a command line, on one line.
func shellWord(text string) string {
	if q := strconv.Quote(text); q[1:len(q)-1] != text || strings.Contains(text, "'") {
		return "$'" + strings.NewReplacer(`\"`, `"`, "'", `\'`).Replace(q[1:len(q)-1]) + "'"
	}
	return "'" + text + "'"
}

// unitNotes describes which units the numeric times were taken to have.
func (im *Importer) unitNotes() []string {
	if im.opt.TimeUnit != 0 {
		return nil
	}
	var all []string
	for f, counts := range im.numbers {
		for u, n := range counts {
			if n > 0 {
				all = append(all, fmt.Sprintf("%s in %s (%d)", im.m.names[f], units[u].name, n))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{"times that are numbers count from 1970, by their magnitude: " + strings.Join(all, ", ")}
}

// notes describes how the log was read: the meaning of the fields, and the assumptions.
func (im *Importer) notes(l *Log) []string {
	var notes, fields []string
	for f, n := range im.found {
		if n == 0 || field(f) == fieldEvent {
			continue
		}
		from := im.m.names[f]
		switch {
		case im.m.file[f]:
			from = "the file's name"
		case im.m.texts[f] != "":
			from = fmt.Sprintf("%q on every line", im.m.texts[f])
		}
		fields = append(fields, fmt.Sprintf("%s from %s (%d)", field(f), from, n))
	}
	slices.Sort(fields)
	notes = append(notes, fmt.Sprintf("read %s: %s", plural.Count(im.lines, "line", "lines"), strings.Join(fields, ", ")))
	if im.other.count > 0 {
		notes = append(notes, fmt.Sprintf("%s about something else (%s, …) left out", plural.Count(im.other.count, "event", "events"), strings.Join(quoted(im.other.values), ", ")))
	}
	notes = append(notes, im.unitNotes()...)
	if im.unmatched > 0 {
		notes = append(notes, fmt.Sprintf("%s not of the pattern, left out", plural.Count(im.unmatched, "line", "lines")))
	}
	if im.noSpans > 0 {
		notes = append(notes, fmt.Sprintf("%s without spans, about logs or metrics, left out", plural.Count(im.noSpans, "line", "lines")))
	}
	switch {
	case im.oneHost != "":
		notes = append(notes, fmt.Sprintf("all times are by the clock of %s, so a clock error of 0 was assumed; a clock that was set meanwhile may deceive", im.oneHost))
	case im.opt.ClockError != nil || len(im.opt.HostErrors) > 0:
		notes = append(notes, "every hold was shortened at both ends by "+im.clockErrors()+" and by the last digit of its times")
	}
	if im.opt.CallTime != nil {
		notes = append(notes, fmt.Sprintf("where a log has only the return of an acquire or a release, the call was taken to have begun up to %v earlier", *im.opt.CallTime))
	}
	return notes
}

// clockErrors describes the clock errors.
func (im *Importer) clockErrors() string {
	var parts []string
	if im.opt.ClockError != nil {
		parts = append(parts, fmt.Sprintf("a clock error of %v", *im.opt.ClockError))
	}
	var hosts []string
	for host, e := range im.opt.HostErrors {
		hosts = append(hosts, fmt.Sprintf("%v for %s", e, host))
	}
	slices.Sort(hosts)
	return strings.Join(append(parts, hosts...), ", ")
}

// typicalTTL returns the median duration of a sample of the leases, or of the holds if the log does
// not contain the ends of leases.
func (l *Log) typicalTTL() time.Duration {
	const sample = 10_000
	var all []int64
	step := max(1, l.holds.n/sample)
	for i := 0; i < l.holds.n; i += step {
		h := l.holds.at(i)
		length := l.exact(h).to - h.at
		if h.flags&untilKnown != 0 {
			length = h.until - h.at
		}
		if length > 0 {
			all = append(all, length)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return time.Duration(all[len(all)/2])
}
