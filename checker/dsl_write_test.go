package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockpick/history"
)

// WriteHeader formats a header as the directive of a golden file.
func WriteHeader(h history.Header) string {
	s := fmt.Sprintf("check format=%d masters=%d quorum=%d ttl=%s driver=%s clients=%d keys=%d", h.Format, h.Masters, h.Quorum, h.TTL, h.Driver, h.Clients, h.Keys)
	if len(h.Faults) > 0 {
		s += " faults=(" + strings.Join(h.Faults, ",") + ")"
	}
	if len(h.Properties) > 0 {
		s += " properties=(" + strings.Join(h.Properties, ",") + ")"
	}
	if h.Resource != "" {
		s += " resource=" + h.Resource
	}
	if h.Duplicates {
		s += " duplicates"
	}
	if h.HungHolder > 0 {
		s += " hung=" + h.HungHolder.String()
	}
	if h.DeadWaiter > 0 {
		s += " dead=" + h.DeadWaiter.String()
	}
	if h.Retry > 0 {
		s += " retry=" + h.Retry.String()
	}
	if h.Fair {
		s += " fair"
	}
	if h.Fencing {
		s += " fencing"
	}
	if h.Kind != "" {
		s += fmt.Sprintf(" kind=%s permits=%d", h.Kind, h.Permits)
	}
	return s
}

// WriteHistory formats a history in the notation of the golden files.
func WriteHistory(h *history.History) string {
	var b strings.Builder
	calling := openCalls{}
	for _, op := range h.Ops {
		b.WriteString(writeLine(op))
		if calling.lacks(&op) {
			b.WriteString(" " + uninvoked)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeLine(op history.Op) string {
	v := op.Value
	if v == nil {
		v = &history.Value{}
	}
	words := []string{fmt.Sprintf("%-7s %s %s", op.Time, op.Process, op.F)}
	add := func(there bool, format string, args ...any) {
		if there {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	switch {
	case op.F == history.FVote:
		answer := "no"
		if op.Type == history.Info {
			answer = "silent"
			if v.Yes {
				answer = "maybe"
			}
		} else if v.Yes {
			answer = "yes"
		}
		add(true, "%s %s", v.Command, answer)
	case v.Phase != "":
		add(op.Type == history.Invoke, "%s", op.Type)
		for _, p := range phases {
			if p.phase == v.Phase && (p.typ == op.Type || op.Type == history.Invoke && p.typ == history.OK) {
				add(true, "%s %d", p.word, v.ID)
			}
		}
	case op.F == history.FChange:
		add(true, "%s", v.Command)
	case op.F == history.FState:
		add(true, "%s", v.State)
	case op.Type != history.Info:
		add(true, "%s", op.Type)
	}
	add(v.Masters != nil, "%s", strings.Join(v.Masters, ","))
	add(v.Clients != nil, "%s", strings.Join(v.Clients, ","))
	add(op.Key != "", "%s", op.Key)
	add(v.Token != "", "%s", v.Token)
	add(v.Client != "", "%s", v.Client)
	add(op.F == history.FAcquire && op.Type == history.OK || v.ValidUntil != 0, "until=%s", v.ValidUntil)
	add(v.Took != 0, "took=%s", v.Took)
	add(v.Delay != 0, "delay=%s", v.Delay)
	add(v.TTL != 0, "ttl=%s", v.TTL)
	add(v.RedisKey != "", "stored=%s", v.RedisKey)
	add(v.Form != "", "form=%s", strings.ReplaceAll(v.Form, " ", "_"))
	add(v.Bound != 0, "bound=%s", v.Bound)
	add(v.Rate != 0, "rate=%v", v.Rate)
	add(v.Mode != "", "mode=%s", v.Mode)
	add(v.Permits != 0, "permits=%d", v.Permits)
	add(v.Fence != 0, "fence=%d", v.Fence)
	add(v.Value != 0 || op.F == history.FApply || op.F == history.FRead, "value=%d", v.Value)
	add(v.Fenced, "fenced")
	add(v.AtLeast, "at-least")
	add(v.TookEffect, "bit")
	if v.Keys != nil {
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(v.Keys)) {
			pair := k + ":" + v.Keys[k]
			if end, mortal := v.Expires[k]; mortal {
				pair += "@" + end.String()
			} else if v.Expires != nil {
				pair += "@never"
			}
			keys = append(keys, pair)
		}
		if keys == nil && v.Expires != nil {
			keys = []string{"none@never"}
		} else if keys == nil {
			keys = []string{"none"}
		}
		add(true, "keys=%s", strings.Join(keys, ","))
	}
	add(v.Command != "" && op.F != history.FVote && op.F != history.FChange, "command=%s", v.Command)
	add(v.Point != "", "point=%s", v.Point)
	add(v.Evidence != "", "evidence=%s", strings.ReplaceAll(v.Evidence, " ", "_"))
	add(op.Error != "", "error=%s", strings.ReplaceAll(op.Error, " ", "_"))
	return strings.Join(words, " ")
}
