package keyspace

import (
	"slices"
	"strings"
)

// rangeQuery is a range of a sorted set: of ranks, scores or names.
type rangeQuery struct {
	by            rangeKind
	low, high     string
	reverse       bool
	limited       bool
	offset, limit int64
	withScores    bool
}

type rangeKind int

const (
	byRank rangeKind = iota
	byScore
	byName
)

const (
	badScoreRange = "ERR min or max is not a float"
	badNameRange  = "ERR min or max not valid string range item"
)

// bound is an end of a range of scores or names.
type bound struct {
	score     float64
	name      string
	exclusive bool
	infinite  int // -1 or 1: a range of names has no lower or no upper end
}

// options parses the options after the range; fixed: BYSCORE, BYLEX and REV are not among them.
func (q *rangeQuery) options(args []string, fixed bool) (problem string) {
	for i := 0; i < len(args); i++ {
		switch word := strings.ToLower(args[i]); {
		case word == "withscores" && !(fixed && q.by == byName):
			q.withScores = true
		case word == "limit" && i+2 < len(args) && !(fixed && q.by == byRank):
			var ok, ok2 bool
			q.limited = true
			q.offset, ok = Integer(args[i+1])
			q.limit, ok2 = Integer(args[i+2])
			if !ok || !ok2 {
				return notInteger
			}
			i += 2
		case word == "byscore" && !fixed:
			q.by = byScore
		case word == "bylex" && !fixed:
			q.by = byName
		case word == "rev" && !fixed:
			q.reverse = true
		default:
			return syntaxError
		}
	}
	switch {
	case q.limited && q.limit != -1 && q.by == byRank:
		return "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	case q.withScores && q.by == byName:
		return "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	}
	return ""
}

// bounds parses the ends of a range of scores or names.
func (q *rangeQuery) bounds() (low, high bound, problem string) {
	texts := []string{q.low, q.high}
	if q.reverse {
		slices.Reverse(texts)
	}
	var ends [2]bound
	for i, text := range texts {
		var ok bool
		if q.by == byScore {
			rest, exclusive := strings.CutPrefix(text, "(")
			ends[i].exclusive = exclusive
			if ends[i].score, ok = float(rest); !ok {
				return low, high, badScoreRange
			}
			continue
		}
		switch {
		case text == "-":
			ends[i].infinite = -1
		case text == "+":
			ends[i].infinite = 1
		case strings.HasPrefix(text, "(") || strings.HasPrefix(text, "["):
			ends[i].exclusive, ends[i].name = text[0] == '(', text[1:]
		default:
			return low, high, badNameRange
		}
	}
	return ends[0], ends[1], ""
}

// compare compares a member with an end of a range.
func (b *bound) compare(by rangeKind, score float64, name string) int {
	switch {
	case by == byName && b.infinite != 0:
		return -b.infinite
	case by == byName:
		return strings.Compare(name, b.name)
	case score < b.score:
		return -1
	case score > b.score:
		return 1
	}
	return 0
}

// members returns the members in a range, in the order of the reply. The range is checked before
// the type of the key, as in Redis.
func (db DB) members(key string, q rangeQuery) (v Value, names []string, problem string) {
	if q.by == byRank {
		first, ok := Integer(q.low)
		last, ok2 := Integer(q.high)
		if !ok || !ok2 {
			return v, nil, notInteger
		}
		if v, problem = db.typed(key, SortedSet); problem != "" {
			return v, nil, problem
		}
		names = v.Parts.ranked()
		if q.reverse {
			slices.Reverse(names)
		}
		from, to := span(first, last, len(names))
		return v, names[from:to], ""
	}
	low, high, problem := q.bounds()
	if problem != "" {
		return v, nil, problem
	}
	if v, problem = db.typed(key, SortedSet); problem != "" {
		return v, nil, problem
	}
	for _, name := range v.Parts.ranked() {
		score := v.Parts.Scores[name]
		above, below := low.compare(q.by, score, name), high.compare(q.by, score, name)
		if (above > 0 || above == 0 && !low.exclusive) && (below < 0 || below == 0 && !high.exclusive) {
			names = append(names, name)
		}
	}
	if q.reverse {
		slices.Reverse(names)
	}
	if q.limited {
		if q.offset < 0 {
			return v, nil, ""
		}
		names = names[min(q.offset, int64(len(names))):]
		if q.limit >= 0 {
			names = names[:min(q.limit, int64(len(names)))]
		}
	}
	return v, names, ""
}

// zrange implements ZRANGE, and ZRANGESTORE if there is a destination.
func zrange(db DB, destination string, args []string, q rangeQuery) Reply {
	q.low, q.high = args[1], args[2]
	if problem := q.options(args[3:], false); problem != "" {
		return Error(problem)
	}
	if destination != "" && q.withScores {
		return Error(syntaxError)
	}
	v, names, problem := db.members(args[0], q)
	switch {
	case problem != "":
		return Error(problem)
	case destination == "":
		return v.Parts.listed(names, q)
	}
	p := copyOf(nil, SortedSet)
	for _, name := range names {
		p.Scores[name] = v.Parts.Scores[name]
	}
	db.save(destination, Value{Expires: Never}, p)
	return Int(int64(p.count()))
}

func (p *Parts) listed(names []string, q rangeQuery) Reply {
	if q.withScores {
		return p.pairs(names, true)
	}
	return Bulks(names)
}

// fixedRange returns a command such as ZREVRANGE or ZRANGEBYSCORE.
func fixedRange(by rangeKind, reverse bool) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		q := rangeQuery{by: by, reverse: reverse, low: args[1], high: args[2]}
		if problem := q.options(args[3:], true); problem != "" {
			return Error(problem)
		}
		v, names, problem := db.members(args[0], q)
		if problem != "" {
			return Error(problem)
		}
		return v.Parts.listed(names, q)
	}
}

func countRange(by rangeKind) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		_, names, problem := db.members(args[0], rangeQuery{by: by, low: args[1], high: args[2]})
		if problem != "" {
			return Error(problem)
		}
		return Int(int64(len(names)))
	}
}

func removeRange(by rangeKind) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		v, names, problem := db.members(args[0], rangeQuery{by: by, low: args[1], high: args[2]})
		if problem != "" {
			return Error(problem)
		}
		return db.remove(args[0], v, names)
	}
}
