package reports

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// grid is a table for the terminal. One column takes the width that the others leave, and wraps. If
// that is too narrow, each row is written as a paragraph instead. Cells must be printable. All but
// those of the wrapping column may be coloured.
type grid struct {
	header []string
	rows   [][]string
	wide   int   // index of the column that wraps
	right  []int // indexes of the columns of numbers, which are aligned right
}

// gap is the number of spaces between two columns.
const gap = 2

// narrowest is the minimum width of the column that wraps.
const narrowest = 24

func (g *grid) write(w io.Writer, width int) error {
	room := width - gap
	for c := range g.header {
		if c == g.wide {
			continue
		}
		room -= g.widest(c) + gap
	}
	if room < min(narrowest, g.widest(g.wide)) {
		return g.writeParagraphs(w, width)
	}
	align := make([]tw.Align, len(g.header))
	for c := range align {
		align[c] = tw.AlignLeft
		if slices.Contains(g.right, c) {
			align[c] = tw.AlignRight
		}
	}
	var out bytes.Buffer
	table := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			},
		})),
		tablewriter.WithConfig(tablewriter.Config{
			Header: tw.CellConfig{Alignment: tw.CellAlignment{PerColumn: align}},
			Row:    tw.CellConfig{Alignment: tw.CellAlignment{PerColumn: align}, Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone}},
		}),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: strings.Repeat(" ", gap), Overwrite: true}),
	)
	table.Header(g.header)
	for _, row := range g.rows {
		row[g.wide] = strings.Join(wrap(row[g.wide], room), "\n")
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// widest returns the width of the longest line in a column, header included.
func (g *grid) widest(column int) int {
	widest := twwidth.Width(g.header[column])
	for _, row := range g.rows {
		for line := range strings.SplitSeq(row[column], "\n") {
			widest = max(widest, twwidth.Width(line))
		}
	}
	return widest
}

// dropEmpty removes a column unless filled is true.
func (g *grid) dropEmpty(column int, filled bool) {
	if filled {
		return
	}
	g.header = slices.Delete(slices.Clone(g.header), column, column+1)
	for i := range g.rows {
		g.rows[i] = slices.Delete(g.rows[i], column, column+1)
	}
	if g.wide > column {
		g.wide--
	}
	g.right = slices.DeleteFunc(slices.Clone(g.right), func(c int) bool { return c == column })
	for i, c := range g.right {
		if c > column {
			g.right[i] = c - 1
		}
	}
}

// writeParagraphs writes each row as a paragraph: its short cells, and below them the
// column that wraps.
func (g *grid) writeParagraphs(w io.Writer, width int) error {
	var out bytes.Buffer
	for _, row := range g.rows {
		var short []string
		for c, cell := range row {
			switch {
			case c == g.wide && c > 0 || cell == "":
			case slices.Contains(g.right, c):
				short = append(short, strings.ToLower(g.header[c])+" "+cell)
			default:
				short = append(short, strings.ReplaceAll(cell, "\n", " "))
			}
		}
		line := ""
		for _, cell := range short {
			indent := strings.Repeat(" ", gap)
			switch {
			case line == "":
				indent = ""
			case twwidth.Width(line)+gap+twwidth.Width(cell) <= width:
				line += indent + cell
				continue
			default:
				out.WriteString(line + "\n")
				line = ""
			}
			lines := wrap(cell, width-gap) // usually one
			if indent == "" && twwidth.Width(cell) <= width {
				lines = []string{cell}
			}
			for _, l := range lines[:len(lines)-1] {
				out.WriteString(indent + l + "\n")
				indent = strings.Repeat(" ", gap)
			}
			cell = indent + lines[len(lines)-1]
			line += cell
		}
		out.WriteString(line + "\n")
		if g.wide == 0 {
			continue
		}
		for _, line := range wrap(row[g.wide], width-2*gap) {
			out.WriteString(strings.TrimRight(strings.Repeat(" ", 2*gap)+line, " ") + "\n")
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
