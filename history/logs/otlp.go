package logs

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// otlpRequest is the part of an ExportTraceServiceRequest that contains the events of locks. Its
// JSON encoding has 64-bit numbers as strings; some exporters write numbers.
type otlpRequest struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type otlpSpan struct {
	Name       string          `json:"name"`
	Start      jsontext.Value  `json:"startTimeUnixNano"`
	End        jsontext.Value  `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes"`
	Status     struct {
		Code jsontext.Value `json:"code"`
	} `json:"status"`
}

type otlpAttribute struct {
	Key   string                    `json:"key"`
	Value map[string]jsontext.Value `json:"value"` // one member: stringValue, intValue, …
}

// otlpLines parses the spans of OTLP.
type otlpLines struct {
	fields map[string][]field // by attribute, and by start, end and name
	sample *fieldSample       // collects the names of attributes; nil: none
}

func newOTLPLines(m *mapping) *otlpLines {
	p := &otlpLines{fields: map[string][]field{}}
	for f, name := range m.names {
		if name != "" {
			p.fields[name] = append(p.fields[name], field(f))
		}
	}
	return p
}

// The fields of a span's record besides its attributes.
const (
	otlpStart = "start"
	otlpEnd   = "end"
	otlpName  = "name"
)

// parse parses one line and calls each for each span in it, with the span's fields in r. failed
// says that the span has the status error. parse returns false if the line contains no spans, but
// logs or metrics.
func (p *otlpLines) parse(line []byte, r *record, each func(start, end instant, failed bool)) (bool, error) {
	var request otlpRequest
	if err := json.Unmarshal(line, &request, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return false, err
	}
	spans := false
	for i := range request.ResourceSpans {
		rs := &request.ResourceSpans[i]
		for j := range rs.ScopeSpans {
			for k := range rs.ScopeSpans[j].Spans {
				spans = true
				s := &rs.ScopeSpans[j].Spans[k]
				r.reset()
				start, end := scalar(s.Start), scalar(s.End)
				p.put(r, otlpStart, start)
				p.put(r, otlpEnd, end)
				p.put(r, otlpName, []byte(s.Name))
				p.attributes(r, s.Attributes)
				p.attributes(r, rs.Resource.Attributes)
				each(unixNano(start), unixNano(end), isError(scalar(s.Status.Code)))
			}
		}
	}
	return spans, nil
}

func (p *otlpLines) put(r *record, name string, value []byte) {
	for _, f := range p.fields[name] {
		r.set(f, value)
	}
}

func (p *otlpLines) attributes(r *record, all []otlpAttribute) {
	for _, a := range all {
		if p.sample != nil {
			p.sample.add(a.Key)
		}
		fields := p.fields[a.Key]
		if len(fields) == 0 {
			continue
		}
		for kind, value := range a.Value {
			for _, f := range fields {
				switch kind {
				case "stringValue", "intValue", "doubleValue":
					r.set(f, scalar(value))
				default:
					r.markUnusable(f)
				}
			}
		}
	}
}

// scalar returns the text of a JSON string or number, and no text for anything else.
func scalar(v jsontext.Value) []byte {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return nil
		}
		return text
	case '0':
		return v
	}
	return nil
}

// unixNano parses a span's start or end as nanoseconds since 1970, regardless of the magnitude.
func unixNano(b []byte) instant {
	at, _, err := (&Options{TimeUnit: 1}).parseEpoch(b)
	if err != nil {
		return 0
	}
	return at
}

// isError reports whether a status code means an error: STATUS_CODE_ERROR is 2.
func isError(code []byte) bool { return string(code) == "2" || string(code) == "STATUS_CODE_ERROR" }
