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

// grid is a table in the terminal: one of its columns takes the room that the
// others leave, and wraps. Cells must be printable; they may be coloured, but for
// those of the column that wraps.
type grid struct {
	header []string
	rows   [][]string
	wide   int   // the column that wraps
	right  []int // the columns of numbers
}

// gap is what separates two columns.
const gap = 2

func (g *grid) write(w io.Writer, width int) error {
	room := width - gap
	for c := range g.header {
		if c == g.wide {
			continue
		}
		widest := twwidth.Width(g.header[c])
		for _, row := range g.rows {
			for line := range strings.SplitSeq(row[c], "\n") {
				widest = max(widest, twwidth.Width(line))
			}
		}
		room -= widest + gap
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
		row[g.wide] = strings.Join(wrap(row[g.wide], max(room, 16)), "\n")
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
