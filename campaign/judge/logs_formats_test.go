package judge_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"lockpick/history/logs"
)

// columns are the fields of the logs that skewedLog draws.
var columns = []string{"time", "event", "requested", "acquired", "releasing", "valid_until", "ttl", "key", "token", "client", "host"}

// fieldsOf reads a line of JSON with the texts of its values.
func fieldsOf(line string) map[string]string {
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &values); err != nil {
		panic(err)
	}
	texts := map[string]string{}
	for name, v := range values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v) // a number, with all its digits
		}
		texts[name] = text
	}
	return texts
}

// inFormat converts files of JSON lines to another format, and returns the options to read them.
func inFormat(format logs.Format, content map[string]string) (logs.Options, map[string]string) {
	o := logs.Options{Format: format}
	if format == logs.JSONL {
		return o, content
	}
	if format == logs.OTLP {
		o.Map = map[string]string{"releasing": "end"} // hold spans end before the release is called
	}
	if format == logs.Lines { // each field in bars; what is not there is empty
		pattern := ""
		for _, c := range columns {
			pattern += fmt.Sprintf(`\|(?P<%s>[^|]*)`, c)
		}
		o.Pattern = regexp.MustCompile("^lock " + pattern + `\|$`)
	}
	converted := map[string]string{}
	for name, text := range content {
		var b strings.Builder
		w := csv.NewWriter(&b)
		if format == logs.CSV {
			_ = w.Write(columns)
		}
		for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
			fields := fieldsOf(s.Text())
			if format == logs.OTLP {
				b.WriteString(spansOf(fields) + "\n")
				continue
			}
			var row []string
			for _, c := range columns {
				row = append(row, fields[c])
			}
			if format == logs.Lines {
				b.WriteString("another line\nlock |" + strings.Join(row, "|") + "|\n")
				continue
			}
			_ = w.Write(row)
		}
		w.Flush()
		converted[name] = b.String()
	}
	return o, converted
}

// spansOf is a line as spans: an acquire and a release, or a hold.
func spansOf(fields map[string]string) string {
	var spans []any
	add := func(name, from, to string) {
		attributes := []any{}
		for _, f := range []string{"valid_until", "ttl", "key", "token", "client", "host"} {
			if v := fields[f]; v != "" && (name != "lock.release" || f != "valid_until" && f != "ttl") {
				attributes = append(attributes, map[string]any{"key": f, "value": map[string]any{"stringValue": v}})
			}
		}
		spans = append(spans, map[string]any{"name": name, "startTimeUnixNano": nanos(from), "endTimeUnixNano": nanos(to), "attributes": attributes})
	}
	switch at := fields["time"] + fields["acquired"]; {
	case fields["event"] == "releasing":
		add("lock.release", at, at)
	case fields["requested"] == "" && fields["acquired"] != "":
		add("lock.hold", at, fields["releasing"])
	default:
		from := fields["requested"]
		if from == "" {
			from = at
		}
		add("lock.acquire", from, at)
		if r := fields["releasing"]; r != "" {
			add("lock.release", r, r)
		}
	}
	line, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{map[string]any{"spans": spans}}}}})
	if err != nil {
		panic(err)
	}
	return string(line)
}

// nanos converts a time as skewedLog shows it to nanoseconds since 1970.
func nanos(text string) string {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return fmt.Sprint(at.UnixNano())
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	unit := int64(time.Second)
	if !strings.Contains(text, ".") && len(text) == 13 {
		unit = int64(time.Millisecond)
	}
	return n.Mul(n, new(big.Rat).SetInt64(unit)).FloatString(0)
}
