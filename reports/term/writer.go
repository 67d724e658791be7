package term

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Options sets the width, the colours and the detail of reports in a terminal.
type Options struct {
	Width   int  // columns; 0 means 80; at least 40
	Color   bool // use ANSI escape sequences
	Verbose bool // add the untested properties with reasons, and all the evidence of each verdict
}

// Writer collects a report for a terminal.
type Writer struct {
	bytes.Buffer
	Width  int // columns
	Colors Colors
	err    error // of a table
}

// New returns a writer for a terminal.
func New(opt Options) *Writer {
	return &Writer{Width: max(cmp.Or(opt.Width, 80), 40), Colors: Colors(opt.Color)}
}

// Table writes a table. If it fails, so does Flush.
func (t *Writer) Table(g *Grid) { t.err = cmp.Or(t.err, g.write(t, t.Width)) }

// Flush writes the report to out. If it returns an error, part of the report may be missing.
func (t *Writer) Flush(out io.Writer) error {
	_, err := out.Write(t.Bytes())
	if err = cmp.Or(t.err, err); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Text writes text behind an indent, and wraps it. Later lines begin with as many spaces.
func (t *Writer) Text(indent, text string) {
	for i, line := range Lines(Printable(text), t.Width-utf8.RuneCountInString(indent)) {
		if i > 0 {
			indent = strings.Repeat(" ", utf8.RuneCountInString(indent))
		}
		fmt.Fprintf(t, "%s%s\n", indent, line)
	}
}

// Title writes a title after an empty line.
func (t *Writer) Title(s string) { fmt.Fprintf(t, "\n%s\n", t.Colors.Bold(s)) }

// Section is a titled part of a report. It writes its title and its introduction before the first text, and nothing
// without one.
type Section struct {
	w     *Writer
	title string
	intro []string
}

// Section returns a part of the report. intro has paragraphs that are written below the title.
func (t *Writer) Section(title string, intro ...string) *Section {
	return &Section{t, title, intro}
}

// Text writes text behind an indent, as Writer.Text does.
func (s *Section) Text(indent, text string) {
	if s.title != "" {
		s.w.Title(s.title)
		for _, line := range s.intro {
			s.w.Text("  ", line)
		}
		s.title = ""
	}
	s.w.Text(indent, text)
}
