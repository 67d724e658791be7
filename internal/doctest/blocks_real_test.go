//go:build real

package doctest

import (
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a page.
type block struct {
	kind string            // the first word after the fence
	args map[string]string // the others: name=value
	from int               // its first line in the page, from 0; the fence stands before it
	text []string
}

// blocksOf reads the fenced blocks of a page.
func blocksOf(t *testing.T, page string, lines []string) []block {
	t.Helper()
	var blocks []block
	open := false
	for i, line := range lines {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			open = true
			words := strings.Fields(info)
			if len(words) == 0 {
				t.Errorf("%s:%d: the block does not say what it is: sh, console, yaml, go, text, …", page, i+1)
				words = []string{"text"}
			}
			b := block{kind: words[0], args: map[string]string{}, from: i + 1}
			for _, w := range words[1:] {
				name, value, _ := strings.Cut(w, "=")
				b.args[name] = value
			}
			blocks = append(blocks, b)
		case fence:
			open = false
		case open:
			b := &blocks[len(blocks)-1]
			b.text = append(b.text, line)
		}
	}
	return blocks
}

// elided reports whether a quotation leaves lines out.
func elided(quoted []string) bool {
	return slices.ContainsFunc(quoted, func(line string) bool { return strings.TrimSpace(line) == "…" })
}
