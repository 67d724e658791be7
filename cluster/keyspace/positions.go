package keyspace

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Positions says which arguments of a command are keys, as Redis's COMMAND INFO does: those from First to Last
// in steps. The command's name has the position 0; a negative Last counts from the end. A First of 0 means that
// there are none. Behind the argument at Count, unless that is 0, as many keys follow as it says. Of the arguments behind
// Word, unless it is empty, the first half are keys.
type Positions struct {
	First, Last, Step, Count int
	Word                     string // in lower case
}

// positions holds the commands whose keys are not their first argument.
var positions = func() map[string]Positions {
	all := map[string]Positions{"watch": {1, -1, 1, 0, ""}, "bitop": {2, -1, 1, 0, ""}, "object": {}, "xread": {Word: "streams"}}
	for p, names := range map[Positions]string{
		{}:                "dbsize flushall flushdb keys randomkey scan",
		{1, -1, 1, 0, ""}: "del exists mget sdiff sdiffstore sinter sinterstore sunion sunionstore touch unlink",
		{1, -1, 2, 0, ""}: "mset msetnx",
		{1, 2, 1, 0, ""}:  "blmove brpoplpush copy lmove rename renamenx rpoplpush smove zrangestore",
		{1, -2, 1, 0, ""}: "blpop brpop bzpopmax bzpopmin",
		{0, 0, 0, 1, ""}:  "lmpop sintercard zdiff zinter zintercard zmpop zunion",
		{0, 0, 0, 2, ""}:  "blmpop bzmpop eval eval_ro evalsha evalsha_ro",
		{1, 1, 1, 2, ""}:  "zdiffstore zinterstore zunionstore",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = p
		}
	}
	return all
}()

// KeyPositions returns where the keys of a command are; name is in lower case.
func KeyPositions(name string) Positions {
	p, special := positions[name]
	if !special && Find(name) != nil {
		return Positions{First: 1, Last: 1, Step: 1}
	}
	return p
}

// Of returns the keys in a command; ok is false if the command cannot be parsed.
func (p Positions) Of(words []string) (keys []string, ok bool) {
	if p.Word != "" {
		i := slices.IndexFunc(words, func(s string) bool { return strings.EqualFold(s, p.Word) })
		n := (len(words) - i - 1) / 2
		if i < 0 || n == 0 {
			return nil, false
		}
		return words[i+1 : i+1+n], true
	}
	last := p.Last
	if last < 0 {
		last += len(words)
	}
	if last >= len(words) {
		return nil, false
	}
	for i := p.First; p.First > 0 && i <= last; i += p.Step {
		keys = append(keys, words[i])
	}
	if p.Count == 0 {
		return keys, true
	}
	if p.Count >= len(words) {
		return nil, false
	}
	n, err := strconv.Atoi(words[p.Count])
	if err != nil || n < 0 || n >= len(words)-p.Count {
		return nil, false
	}
	return append(keys, words[p.Count+1:p.Count+1+n]...), true
}

// Names returns the names of all commands of the tables, sorted.
func Names() (all []string) {
	for _, t := range Tables {
		all = slices.AppendSeq(all, maps.Keys(t.Commands))
	}
	slices.Sort(all)
	return all
}
