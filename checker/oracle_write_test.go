package checker_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockpick/history"
)

// writeHeader formats a header as the directive of a golden file.
func writeHeader(h history.Header) string {
	s := fmt.Sprintf("check masters=%d ttl=%s driver=%s clients=%d keys=%d", h.Masters, h.TTL, h.Driver, h.Clients, h.Keys)
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
	if h.Fair {
		s += fmt.Sprintf(" fair quorum=%d", h.Quorum)
	}
	if h.Fencing {
		s += " fencing"
	}
	if h.Kind != "" {
		s += fmt.Sprintf(" kind=%s permits=%d", h.Kind, h.Permits)
	}
	return s
}

// writeLine formats an operation in the notation of the golden files.
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
		} else if v.Yes {
			answer = "yes"
		}
		add(true, "%s %s", v.Command, answer)
	case v.Phase != "":
		kind := v.Phase
		switch {
		case op.Type == history.Invoke:
			kind = "# " + kind + " begins"
		case op.Type == history.Fail:
			kind = "skip"
		case op.Type == history.Info:
			kind = "stuck"
		}
		add(true, "%s %d", kind, v.ID)
		add(v.Masters != nil, "%s", strings.Join(v.Masters, ","))
		add(v.Clients != nil, "%s", strings.Join(v.Clients, ","))
		add(v.TookEffect, "bit")
	case op.F == history.FState:
		add(true, "%s", v.State)
	case op.Type != history.Info:
		add(true, "%s", op.Type)
	}
	add(op.Key != "", "%s", op.Key)
	add(v.Token != "", "%s", v.Token)
	add(v.Client != "", "%s", v.Client)
	add(op.F == history.FAcquire && op.Type == history.OK || v.ValidUntil != 0, "until=%s", v.ValidUntil)
	add(v.Took != 0, "took=%s", v.Took)
	add(v.Delay != 0, "delay=%s", v.Delay)
	add(v.RedisKey != "", "redis=%s", v.RedisKey)
	add(v.Bound != 0, "bound=%s", v.Bound)
	add(v.Mode != "", "mode=%s", v.Mode)
	add(v.Permits != 0, "permits=%d", v.Permits)
	add(v.Fence != 0, "fence=%d", v.Fence)
	add(v.Value != 0 || op.F == history.FApply || op.F == history.FRead, "value=%d", v.Value)
	add(v.Fenced, "fenced")
	if v.Keys != nil {
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(v.Keys)) {
			pair := k + ":" + v.Keys[k]
			if end, ok := v.Expires[k]; ok {
				pair += "@" + end.String()
			}
			keys = append(keys, pair)
		}
		if keys == nil {
			keys = []string{"none"}
		}
		add(true, "keys=%s", strings.Join(keys, ","))
	}
	add(v.Point != "", "point=%s", v.Point)
	add(op.Error != "", "error=%s", strings.ReplaceAll(op.Error, " ", "_"))
	return strings.Join(words, " ")
}
