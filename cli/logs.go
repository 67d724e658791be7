package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/history/logs"
	"lockpick/internal/plural"
	"lockpick/watch"
)

// logFlags holds the flags of lockpick check for logs of a lock that Lockpick did not run.
type logFlags struct {
	format     string
	pattern    string
	fields     []string
	events     []string
	timeUnit   string
	ttlUnit    string
	ttl        string
	zone       string
	delimiter  string
	callTime   string
	clockError []string
	keep       bool
}

// logOnly lists the flags that are only valid with --format.
var logOnly = []string{"pattern", "map", "event", "time-unit", "ttl-unit", "ttl", "zone", "delimiter", "call-time", "clock-error", "keep"}

func (f *logFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "", "judge logs of your own lock: jsonl (JSON lines), otlp (OpenTelemetry spans as JSON lines), csv, text (lines of any form, with --pattern), or monitor (what redis-cli printed of MONITOR, a file for each master)")
	fs.StringVar(&f.pattern, "pattern", "", "a regular expression (RE2) that takes the lines of the format text apart: its named groups are fields, as in '(?P<time>\\S+ \\S+) (?P<client>\\S+): (?P<event>got|freed) (?P<key>\\S+)'. Lines that it does not match are left out; implies --format text")
	fs.StringSliceVar(&f.fields, "map", nil, "field=name for each field with another name in the log, as in key=lock.id; a name may be a dotted path, @text for a text that every line shall have, or @file for the file's name. Fields: "+logFieldNames())
	fs.StringArrayVar(&f.events, "event", nil, "kind=value: what the field event says where a line or a span is about a lock, as in --event 'acquired=got the lock' (again for each). Kinds: "+
		strings.Join(logs.EventKinds(logs.JSONL), ", ")+"; of otlp: "+strings.Join(logs.EventKinds(logs.OTLP), ", "))
	fs.StringArrayVar(&f.clockError, "clock-error", nil, "how far a host's clock may be off, as in 50ms, or host-a=20ms for one host (again for each): holds are shortened by it, so that clocks convict nobody")
	fs.StringVar(&f.callTime, "call-time", "", "the longest that an acquire or a release takes, where the log has only its return")
	fs.Var((*durationOrNone)(&f.ttl), "ttl", "TTL of leases whose lines say nothing of it, or none if leases do not end by themselves")
	fs.StringVar(&f.timeUnit, "time-unit", "", "unit of times that are numbers: s, ms, us or ns (default: by their magnitude)")
	fs.StringVar(&f.ttlUnit, "ttl-unit", "", "unit of TTLs that are numbers: s or ms")
	fs.StringVar(&f.zone, "zone", "", "time zone of times that name none, as in UTC or Europe/Berlin")
	fs.StringVar(&f.delimiter, "delimiter", "", "what separates the columns of csv (default: a comma; tab is a name for it)")
	fs.BoolVar(&f.keep, "keep", false, "keep the history that the logs became, with an HTML report, in the store")
}

func logFieldNames() string {
	var names []string
	for _, f := range logs.Fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// options returns the flags as options of the importer.
func (f *logFlags) options() (o logs.Options, err error) {
	o.Format = logs.Format(f.format)
	if f.pattern != "" {
		if o.Pattern, err = regexp.Compile(f.pattern); err != nil {
			return o, fmt.Errorf("--pattern: %w", err)
		}
		if o.Format != logs.Lines {
			return o, fmt.Errorf("--pattern is for --format text, not %s", f.format)
		}
	}
	o.Map, o.Events, o.HostErrors = map[string]string{}, map[string]string{}, map[string]time.Duration{}
	for _, m := range f.fields {
		name, in, ok := strings.Cut(m, "=")
		if !ok {
			return o, fmt.Errorf("--map %s: it takes field=name, as in token=lock.token", m)
		}
		if _, twice := o.Map[name]; twice {
			return o, fmt.Errorf("--map names the field %s twice", name)
		}
		o.Map[name] = in
	}
	for _, e := range f.events {
		kind, value, ok := strings.Cut(e, "=")
		if !ok {
			return o, fmt.Errorf("--event %s: it takes kind=value, as in acquired=lock.acquired", e)
		}
		if before, twice := o.Events[value]; twice && before != kind {
			return o, fmt.Errorf("--event says that %q is both %s and %s", value, before, kind)
		}
		o.Events[value] = kind
	}
	for _, e := range f.clockError {
		host, text, single := strings.Cut(e, "=")
		if !single {
			host, text = "", e
		}
		d, err := duration("--clock-error", text, 24*time.Hour)
		if name, error, colon := strings.Cut(text, ":"); err != nil && single && host == "host" && colon {
			return o, fmt.Errorf("--clock-error %s: it takes host-name=duration: write --clock-error %s=%s", e, name, error)
		}
		if err != nil {
			return o, err
		}
		if single {
			if _, twice := o.HostErrors[host]; twice {
				return o, fmt.Errorf("--clock-error names the host %s twice", host)
			}
			o.HostErrors[host] = d
		} else {
			o.ClockError = &d
		}
	}
	if f.callTime != "" {
		d, err := duration("--call-time", f.callTime, 24*time.Hour)
		if err != nil {
			return o, err
		}
		o.CallTime = &d
	}
	switch f.ttl {
	case "":
	case "none":
		o.NoTTL = true
	default:
		if o.TTL, err = duration("--ttl", f.ttl, 10*365*24*time.Hour); err != nil {
			return o, err
		}
	}
	if f.zone != "" {
		if o.Zone, err = time.LoadLocation(f.zone); err != nil {
			return o, fmt.Errorf("--zone %s: %w", f.zone, err)
		}
	}
	if o.TimeUnit, err = unit("--time-unit", f.timeUnit, "s", "ms", "us", "ns"); err != nil {
		return o, err
	}
	if o.TTLUnit, err = unit("--ttl-unit", f.ttlUnit, "s", "ms", "us", "ns"); err != nil {
		return o, err
	}
	if f.delimiter == "tab" || f.delimiter == `\t` {
		f.delimiter = "\t"
	}
	if f.delimiter != "" {
		if utf8.RuneCountInString(f.delimiter) != 1 || strings.ContainsAny(f.delimiter, "\"\r\n") {
			return o, fmt.Errorf("--delimiter %q: it is one character, or tab", f.delimiter)
		}
		o.Delimiter, _ = utf8.DecodeRuneInString(f.delimiter)
	}
	return o, nil
}

func duration(flag, text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s %s: it takes a duration, as in 50ms", flag, text)
	case d < 0 || d > most:
		return 0, fmt.Errorf("%s %s: it must be from 0 to %v", flag, text, most)
	}
	return d, nil
}

func unit(flag, text string, allowed ...string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if !slices.Contains(allowed, text) {
		return 0, fmt.Errorf("%s %s: it takes %s", flag, text, strings.Join(allowed, ", "))
	}
	return map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": 1}[text], nil
}

// formatMonitor is the format of what redis-cli prints of MONITOR. It has no events of clients: its commands are linted
// as lockpick watch lints live ones.
const formatMonitor = "monitor"

// checkMonitor lints what redis-cli printed of MONITOR, one file for each master.
func checkMonitor(ctx context.Context, files []string, levels []string, out output) error {
	if len(levels) > 0 {
		return usageError{errors.New("--property: MONITOR shows what masters were asked, and nothing of clients: its commands are linted, and no property is judged")}
	}
	show := newLogProgress(files)
	defer show.done()
	var masters []io.Reader
	for _, name := range files {
		r, _, err := openLog(name, show)
		if err != nil {
			return usageError{err}
		}
		defer r.Close()
		masters = append(masters, r)
	}
	l, last, others, err := watch.ReadMonitor(ctx, watch.Options{}, masters)
	switch {
	case err != nil && ctx.Err() == nil:
		return usageError{err}
	case err != nil:
		return err
	case l == nil:
		return usageError{fmt.Errorf("%s: no line is a command as redis-cli prints it of MONITOR: 1339518083.107412 [0 127.0.0.1:60866] \"SET\" \"key\" …", strings.Join(files, ", "))}
	}
	r := l.Result(last, watch.Missed{})
	if others > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s are not commands and were left out", plural.Count(others, "line", "lines")))
	}
	return lintOutcome(out.to, &r, out.json)
}

// checkLogs judges logs of a lock that Lockpick did not run.
func checkLogs(ctx context.Context, f *logFlags, files []string, store campaign.Store, levels []string, out output) error {
	if f.format == formatMonitor {
		if out.junit != "" {
			return usageError{errors.New("--junit is about verdicts: --format monitor has findings")}
		}
		return checkMonitor(ctx, files, levels, out)
	}
	defer judge.CollectMore(logHeap)()
	o, err := f.options()
	if err != nil {
		return usageError{err}
	}
	h, r, err := judgeLogs(ctx, o, files)
	if err != nil {
		return err
	}
	if len(levels) > 0 {
		r.SetProperties(levels)
	}
	if f.keep {
		if err := keepLogs(store, h, r); err != nil {
			return err
		}
	}
	if err := out.print(h, r); err != nil {
		return err
	}
	return exitOf(r, r.Properties)
}

// logHeap is the garbage collector's target while a log is read, in percent of the live heap.
// Most of the live heap has no pointers, so a collection is fast.
const logHeap = 20

// keepLogs stores the history that was made from logs as a run with a report.
func keepLogs(store campaign.Store, h *history.History, r *judge.Result) error {
	dir, err := store.Keep(h, r)
	if err != nil {
		return err
	}
	return writeReport(dir, h, r)
}

// onlyWithFormat rejects the flags for logs. It is called when --format is absent.
func onlyWithFormat(cmd *cobra.Command) error {
	for _, name := range logOnly {
		if cmd.Flags().Changed(name) {
			return usageError{errors.New("--" + name + " is about logs of your own lock: add --format jsonl, otlp, csv, text or monitor")}
		}
	}
	return nil
}

// durationOrNone is the value of a flag that takes a duration, or none. It is checked when it is used.
type durationOrNone string

func (d *durationOrNone) String() string        { return string(*d) }
func (d *durationOrNone) Set(text string) error { *d = durationOrNone(text); return nil }
func (d *durationOrNone) Type() string          { return "duration" }
