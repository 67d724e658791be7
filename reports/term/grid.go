package term

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

// Grid is a table for the terminal. One column takes the width that the others leave, and wraps. If
// that is too narrow, each row is written as a paragraph instead. Cells must be printable. All but
// those of the wrapping column may be coloured.
type Grid struct {
	Header []string
	Rows   [][]string
	Wide   int   // index of the column that wraps
	Right  []int // indexes of the columns of numbers, which are aligned right
}

// Gap is the number of spaces between two columns.
const Gap = 2

// Narrowest is the minimum width of the column that wraps.
const Narrowest = 24

func (g *Grid) write(w io.Writer, width int) error {
	room := width - Gap
	for c := range g.Header {
		if c == g.Wide {
			continue
		}
		room -= g.widest(c) + Gap
	}
	if room < min(Narrowest, g.widest(g.Wide)) {
		return g.writeParagraphs(w, width)
	}
	align := make([]tw.Align, len(g.Header))
	for c := range align {
		align[c] = tw.AlignLeft
		if slices.Contains(g.Right, c) {
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
		tablewriter.WithPadding(tw.Padding{Left: "", Right: strings.Repeat(" ", Gap), Overwrite: true}),
	)
	table.Header(g.Header)
	for _, row := range g.Rows {
		row[g.Wide] = strings.Join(Lines(row[g.Wide], room), "\n")
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
func (g *Grid) widest(column int) int {
	widest := twwidth.Width(g.Header[column])
	for _, row := range g.Rows {
		for line := range strings.SplitSeq(row[column], "\n") {
			widest = max(widest, twwidth.Width(line))
		}
	}
	return widest
}

// DropEmpty removes a column unless filled is true.
func (g *Grid) DropEmpty(column int, filled bool) {
	if filled {
		return
	}
	g.Header = slices.Delete(slices.Clone(g.Header), column, column+1)
	for i := range g.Rows {
		g.Rows[i] = slices.Delete(g.Rows[i], column, column+1)
	}
	if g.Wide > column {
		g.Wide--
	}
	g.Right = slices.DeleteFunc(slices.Clone(g.Right), func(c int) bool { return c == column })
	for i, c := range g.Right {
		if c > column {
			g.Right[i] = c - 1
		}
	}
}

// writeParagraphs writes each row as a paragraph: its short cells, and below them the
// column that wraps.
func (g *Grid) writeParagraphs(w io.Writer, width int) error {
	var out bytes.Buffer
	for _, row := range g.Rows {
		var short []string
		for c, cell := range row {
			switch {
			case c == g.Wide && c > 0 || cell == "":
			case slices.Contains(g.Right, c):
				short = append(short, strings.ToLower(g.Header[c])+" "+cell)
			default:
				short = append(short, strings.ReplaceAll(cell, "\n", " "))
			}
		}
		line := ""
		for _, cell := range short {
			indent := strings.Repeat(" ", Gap)
			switch {
			case line == "":
				indent = ""
			case twwidth.Width(line)+Gap+twwidth.Width(cell) <= width:
				line += indent + cell
				continue
			default:
				out.WriteString(line + "\n")
				line = ""
			}
			lines := Lines(cell, width-Gap) // usually one
			if indent == "" && twwidth.Width(cell) <= width {
				lines = []string{cell}
			}
			for _, l := range lines[:len(lines)-1] {
				out.WriteString(indent + l + "\n")
				indent = strings.Repeat(" ", Gap)
			}
			cell = indent + lines[len(lines)-1]
			line += cell
		}
		out.WriteString(line + "\n")
		if g.Wide == 0 {
			continue
		}
		for _, line := range Lines(row[g.Wide], width-2*Gap) {
			out.WriteString(strings.TrimRight(strings.Repeat(" ", 2*Gap)+line, " ") + "\n")
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
