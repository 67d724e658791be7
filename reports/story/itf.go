package story

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"time"

	"lockpick/checker/narrative"

	"lockpick/checker"
)

// ITF writes a violation of a run as a trace in the Informal Trace Format (ADR 015 of Apalache): one
// state for each step of the story, with these variables:
//
//	time    ns since the run began
//	step    the step in sentences
//	stored  from master to the token that it stores, as far as the events tell
//	leases  from client to the tokens of its valid leases
//	inside  from client to the tokens of the leases under which it is in a critical section
func ITF(w io.Writer, v *narrative.Violation, run string) error {
	type set struct {
		Members []string `json:"#set"`
	}
	type mapping struct {
		Pairs [][2]any `json:"#map"`
	}
	type integer struct {
		Decimal string `json:"#bigint"`
	}
	type meta struct {
		Index int `json:"index"`
	}
	type state struct {
		Meta   meta    `json:"#meta"`
		Time   integer `json:"time"`
		Step   string  `json:"step"`
		Stored mapping `json:"stored"`
		Leases mapping `json:"leases"`
		Inside mapping `json:"inside"`
	}
	d, conclusion := newDrawing(v)
	var states []state
	add := func(at time.Duration, text string) {
		s := state{Meta: meta{len(states)}, Time: integer{strconv.FormatInt(at.Nanoseconds(), 10)}, Step: text,
			Stored: mapping{[][2]any{}}, Leases: mapping{[][2]any{}}, Inside: mapping{[][2]any{}}}
		for _, m := range d.masters {
			if held := d.state.masters[m]; held != nil && held.token != "" && at < held.until {
				s.Stored.Pairs = append(s.Stored.Pairs, [2]any{m, held.token})
			}
		}
		for _, c := range d.clients {
			valid, inside := set{[]string{}}, set{[]string{}}
			if held := d.state.clients[c]; held != nil {
				for token, until := range held.leases {
					if at < until {
						valid.Members = append(valid.Members, token)
					}
				}
				for token := range held.inside {
					inside.Members = append(inside.Members, token)
				}
			}
			slices.Sort(valid.Members)
			slices.Sort(inside.Members)
			s.Leases.Pairs = append(s.Leases.Pairs, [2]any{c, valid})
			s.Inside.Pairs = append(s.Inside.Pairs, [2]any{c, inside})
		}
		states = append(states, s)
	}
	for _, s := range d.steps {
		text := ""
		for _, e := range s.events {
			d.state.apply(e)
			if text != "" {
				text += " "
			}
			text += e.Sentence()
		}
		add(s.at, text)
	}
	if conclusion != nil {
		add(max(conclusion.At, d.steps[len(d.steps)-1].at), conclusion.Sentence())
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(struct {
		Meta   any      `json:"#meta"`
		Vars   []string `json:"vars"`
		States []state  `json:"states"`
	}{
		map[string]string{
			"format":             "ITF",
			"format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
			"description":        v.Summary,
			"source":             run,
			"status":             "violation of " + v.Level + " " + checker.TitleOf(v.Property),
		},
		[]string{"time", "step", "stored", "leases", "inside"}, states,
	})
}
