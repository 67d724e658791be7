package keyspace

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A sorted set is combined with others by these rules. Members of plain sets have the score 1.
type combiner struct {
	name string
	rule func(inFirst, inOther bool) bool
	diff bool // scores are not combined
}

var (
	union        = combiner{name: "zunion", rule: either}
	intersection = combiner{name: "zinter", rule: both}
	difference   = combiner{name: "zdiff", rule: without, diff: true}
)

// combined holds the arguments of ZUNION or one of its variants.
type combined struct {
	sources    []source
	aggregate  func(a, b float64) float64
	withScores bool
	limit      int64
}

// source is one of the values that are combined.
type source struct {
	scores map[string]float64
	weight float64
}

// show returns ZUNION, ZINTER or ZDIFF.
func (c combiner) show() func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		o, problem := c.parse(db, c.name, args, false, false)
		if problem != "" {
			return Error(problem)
		}
		p := c.combine(o)
		return p.listed(p.ranked(), rangeQuery{withScores: o.withScores})
	}
}

// store returns ZUNIONSTORE, ZINTERSTORE or ZDIFFSTORE.
func (c combiner) store() func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		o, problem := c.parse(db, c.name+"store", args[1:], true, false)
		if problem != "" {
			return Error(problem)
		}
		p := c.combine(o)
		db.save(args[0], Value{Expires: Never}, p)
		return Int(int64(p.count()))
	}
}

func zinterCard(db DB, args []string) Reply {
	o, problem := intersection.parse(db, "zintercard", args, false, true)
	if problem != "" {
		return Error(problem)
	}
	return limited(int64(intersection.combine(o).count()), o.limit)
}

// limited returns the number of members, or LIMIT if there are more; LIMIT 0 is none.
func limited(n, limit int64) Reply {
	if limit > 0 {
		n = min(n, limit)
	}
	return Int(n)
}

// parse parses the number of keys, the keys and the options after them.
func (c combiner) parse(db DB, name string, args []string, stores, counts bool) (o combined, problem string) {
	n, ok := Integer(args[0])
	switch {
	case !ok:
		return o, notInteger
	case n < 1:
		return o, "ERR at least 1 input key is needed for '" + name + "' command"
	case n > int64(len(args)-1):
		return o, syntaxError
	}
	for _, key := range args[1 : n+1] {
		v, exists := db.s.Get(key, db.now)
		if !exists {
			o.sources = append(o.sources, source{weight: 1})
			continue
		}
		if v.Type() != Set && v.Type() != SortedSet {
			return o, wrongType
		}
		scores := v.Parts.Scores
		if v.Type() == Set {
			scores = copyOf(v.Parts, Set).Scores
			for member := range scores {
				scores[member] = 1
			}
		}
		o.sources = append(o.sources, source{scores, 1})
	}
	o.aggregate = added
	for rest := args[n+1:]; len(rest) > 0; {
		more := int64(len(rest) - 1)
		switch word := strings.ToLower(rest[0]); {
		case word == "weights" && !c.diff && !counts && more >= n:
			for i := range o.sources {
				if o.sources[i].weight, ok = float(rest[i+1]); !ok {
					return o, "ERR weight value is not a float"
				}
			}
			rest = rest[n+1:]
		case word == "aggregate" && !c.diff && !counts && more >= 1:
			o.aggregate = map[string]func(a, b float64) float64{"sum": added, "min": minimum, "max": maximum}[strings.ToLower(rest[1])]
			if o.aggregate == nil {
				return o, syntaxError
			}
			rest = rest[2:]
		case word == "withscores" && !stores && !counts:
			o.withScores = true
			rest = rest[1:]
		case word == "limit" && counts && more >= 1:
			if o.limit, ok = Integer(rest[1]); !ok || o.limit < 0 {
				return o, negativeLimit
			}
			rest = rest[2:]
		default:
			return o, syntaxError
		}
	}
	return o, ""
}

const negativeLimit = "ERR LIMIT can't be negative"

// combine computes the result. Redis begins with the smallest value, and so adds in that order.
func (c combiner) combine(o combined) *Parts {
	if !c.diff {
		slices.SortStableFunc(o.sources, func(a, b source) int { return cmp.Compare(len(a.scores), len(b.scores)) })
	}
	p := copyOf(nil, SortedSet)
	for i, s := range o.sources {
		if i == 0 {
			for member, x := range s.scores {
				p.Scores[member] = number(x * s.weight)
			}
			continue
		}
		next := copyOf(nil, SortedSet)
		for _, names := range []map[string]float64{p.Scores, s.scores} {
			for member := range names {
				old, inFirst := p.Scores[member]
				x, inOther := s.scores[member]
				if !c.rule(inFirst, inOther) {
					continue
				}
				switch x = number(x * s.weight); {
				case c.diff || !inOther:
					x = old
				case inFirst:
					x = o.aggregate(old, x)
				}
				next.Scores[member] = x
			}
		}
		p = next
	}
	return p
}

// number returns 0 for a product or a sum that is not a number.
func number(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func added(a, b float64) float64   { return number(a + b) }
func minimum(a, b float64) float64 { return min(a, b) }
func maximum(a, b float64) float64 { return max(a, b) }

func sinterCard(db DB, args []string) Reply {
	n, ok := Integer(args[0])
	switch {
	case !ok || n < 1:
		return Error("ERR numkeys should be greater than 0")
	case n > int64(len(args)-1):
		return Error("ERR Number of keys can't be greater than number of args")
	}
	limit := int64(0)
	for rest := args[n+1:]; len(rest) > 0; rest = rest[2:] {
		if !strings.EqualFold(rest[0], "limit") || len(rest) == 1 {
			return Error(syntaxError)
		}
		if limit, ok = Integer(rest[1]); !ok || limit < 0 {
			return Error(negativeLimit)
		}
	}
	p, problem := db.combination(args[1:n+1], both)
	if problem != "" {
		return Error(problem)
	}
	return limited(int64(p.count()), limit)
}

// randomPart returns HRANDFIELD or ZRANDMEMBER: with is the word that asks for what value returns.
func randomPart(kind, with string, value func(p *Parts, name string) Reply) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		n, ok := int64(1), true
		if len(args) > 1 {
			n, ok = Integer(args[1])
		}
		pairs := len(args) == 3
		switch {
		case !ok:
			return Error(notInteger)
		case len(args) > 3 || pairs && !strings.EqualFold(args[2], with):
			return Error(syntaxError)
		case n < -mostRepeated:
			return Error("ERR value is out of range")
		}
		v, problem := db.typed(args[0], kind)
		switch {
		case problem != "":
			return Error(problem)
		case len(args) == 1 && v.Parts == nil:
			return Nil
		}
		chosen := db.sample(v.Parts.names(), n)
		switch {
		case len(args) == 1:
			return Bulk(chosen[0])
		case !pairs:
			return Bulks(chosen)
		}
		r := Reply{Kind: ReplyPairs}
		for _, name := range chosen {
			r.Items = append(r.Items, Bulk(name), value(v.Parts, name))
		}
		return r
	}
}

// mostRepeated limits how many names are drawn of which each may occur several times.
const mostRepeated = 1 << 20

// sample draws up to n different names, or -n of which each may occur several times.
func (db DB) sample(names []string, n int64) []string {
	if n >= 0 {
		return db.draw(names, n)
	}
	var chosen []string
	for range -n {
		if len(names) > 0 {
			chosen = append(chosen, names[db.s.Intn(len(names))])
		}
	}
	return chosen
}
