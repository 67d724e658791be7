package term

import (
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Lines breaks text into lines of at most width columns. It breaks between words, and within a word
// only if the word is longer than a line.
func Lines(text string, width int) []string {
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
		for head := Cut(line, width); len(head) < len(line); head = Cut(line, width) {
			lines = append(lines, head)
			line = line[len(head):]
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// Paragraphs fits text into a width in columns. Paragraphs are separated by empty lines, and a line that begins with
// spaces is the row of a table, whose last column has what stands after the last two spaces. Each line but the first of the text gets the indent.
func Paragraphs(text string, width int, indent string) string {
	var lines, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			lines = append(lines, Lines(strings.Join(paragraph, " "), width-len(indent))...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			end()
			lines = append(lines, "")
		case strings.HasPrefix(line, " "):
			end()
			last := len(line) - len(strings.TrimLeft(line[strings.LastIndex(line, "  ")+1:], " "))
			lines = append(lines, line[:last]+strings.Join(Lines(line[last:], width-len(indent)-last), "\n"+strings.Repeat(" ", last)))
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.ReplaceAll(strings.Join(lines, "\n"+indent), "\n"+indent+"\n", "\n\n")
}

// charactersEach limits the characters of a line to so many for each of its columns: a text of somebody else may have
// any number that take no column, and each of them is measured with all before it.
const charactersEach = 4

// Cut returns the longest prefix of s that fits into width columns, at least one character.
func Cut(s string, width int) string {
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
