package reports

import (
	"strings"
	"unicode/utf8"

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
		for head := cut(line, width); len(head) < len(line); head = cut(line, width) {
			lines = append(lines, head)
			line = line[len(head):]
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// charactersEach limits the characters of a line to so many for each of its columns: a text of somebody else may have
// any number that take no column, and each of them is measured with all before it.
const charactersEach = 4

// cut returns the longest prefix of s that fits into width columns, at least one character.
func cut(s string, width int) string {
	end, n := 0, 0
	for i := range s {
		_, size := utf8.DecodeRuneInString(s[i:]) // of an invalid byte it is 1
		next := i + size
		if n++; i > 0 && (n > charactersEach*width || twwidth.Width(s[:next]) > width) {
			break
		}
		end = next
	}
	return s[:end]
}
