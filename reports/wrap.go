package reports

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// wrap breaks text into lines of at most width columns. It breaks between words, and within a word
// only if the word is longer than a line.
func wrap(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case twwidth.Width(line)+1+twwidth.Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for twwidth.Width(line) > width {
			head := cut(line, width)
			lines = append(lines, head)
			line = line[len(head):]
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// cut returns the longest prefix of s that fits into width columns, at least one character.
func cut(s string, width int) string {
	end := 0
	for i, r := range s {
		next := i + len(string(r))
		if i > 0 && twwidth.Width(s[:next]) > width {
			break
		}
		end = next
	}
	return s[:end]
}
