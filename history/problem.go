package history

import (
	"fmt"
	"strconv"
	"unicode"
)

// Problem is something unusual in one or more lines of a history. The history can still be
// judged, but the verdict may be less reliable.
type Problem struct {
	Line  int    // the first line that has it
	Text  string // what is unusual in that line
	Count int    // how many lines have it
}

func (p Problem) String() string {
	if p.Count > 1 {
		return fmt.Sprintf("line %d: %s (%d lines have this problem)", p.Line, p.Text, p.Count)
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// maxProblems is the maximum number of kinds of problems that are listed; further kinds are only
// counted.
const maxProblems = 20

// problems collects problems by kind, in the order of their first lines.
type problems struct {
	all    []Problem
	kinds  map[string]int // index in all
	others int            // problems of further kinds
	first  int            // the line of the first of these problems
}

func (p *problems) add(line int, kind, text string) {
	if i, known := p.kinds[kind]; known {
		p.all[i].Count++
		return
	}
	if len(p.all) == maxProblems {
		if p.others++; p.others == 1 {
			p.first = line
		}
		return
	}
	if p.kinds == nil {
		p.kinds = map[string]int{}
	}
	p.kinds[kind] = len(p.all)
	p.all = append(p.all, Problem{line, text, 1})
}

func (p *problems) unknownField(line int, name string) {
	text := "unknown field " + quoted(name)
	p.add(line, text, text)
}

func (p *problems) list() []Problem {
	all := p.all[:len(p.all):len(p.all)]
	if p.others > 0 {
		all = append(all, Problem{p.first, "more problems, of other kinds", p.others})
	}
	return all
}

// longestName is the maximum length of a name from a file in a message, in bytes.
const longestName = 60

// quoted returns a name from a file in quotation marks, shortened if it is long.
func quoted(name string) string {
	if len(name) > longestName {
		return strconv.Quote(name[:longestName]) + "…"
	}
	return strconv.Quote(name)
}

// named returns a name from a file, in quotation marks only if it needs them.
func named(name string) string {
	if name == "" || len(name) > longestName {
		return quoted(name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return quoted(name)
		}
	}
	return name
}
