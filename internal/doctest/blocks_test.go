package doctest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/claims"
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

// TestBlocks: scenarios and claims are valid, and each command says with what it exits. TestPages runs the commands.
func TestBlocks(t *testing.T) {
	for _, page := range pages(t) {
		if elsewhere[page] != "" {
			continue
		}
		for _, b := range blocksOf(t, page, readLines(t, page)) {
			var err error
			_, isScenario := b.args["scenario"]
			_, isClaims := b.args["claims"]
			switch {
			case b.kind == "sh":
				if commands := b.commands(); len(commands) > 0 && len(commands) != len(b.exits()) {
					err = fmt.Errorf("%d commands, and exits=%s: say with what each exits (- if it is not run)", len(commands), b.args["exits"])
				}
			case isScenario:
				_, err = scenario.Parse([]byte(b.content()))
			case isClaims:
				_, err = claims.Parse([]byte(b.content()))
			}
			if err != nil {
				t.Errorf("%s:%d: %v", page, b.from, err)
			}
		}
	}
}

// remark separates a command from the remark after it.
var remark = regexp.MustCompile(`\s{2,}`)

// commands returns those of a block of commands that begin with lockpick.
func (b *block) commands() (all []string) {
	for _, line := range b.text {
		if command := remark.Split(line, 2)[0]; strings.HasPrefix(command, "lockpick ") {
			all = append(all, command)
		}
	}
	return all
}

// exits returns the exit code of each command.
func (b *block) exits() []string { return strings.Split(b.args["exits"], ",") }

func (b *block) content() string { return strings.Join(b.text, "\n") + "\n" }
