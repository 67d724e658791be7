package logs

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvLines reads the mapped fields of CSV rows.
type csvLines struct {
	in      *csv.Reader
	columns [numFields]int // -1: there is none
	width   int
}

// newCSVLines reads the header.
func newCSVLines(in io.Reader, m *mapping, delimiter rune) (*csvLines, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	if mark, err := b.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = b.Discard(3) // the byte order mark that spreadsheets write
	}
	p := &csvLines{in: csv.NewReader(b)}
	if delimiter != 0 {
		p.in.Comma = delimiter
	}
	p.in.ReuseRecord, p.in.FieldsPerRecord, p.in.LazyQuotes = true, -1, true
	header, err := p.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: CSV begins with a line of column names")
	}
	if err != nil {
		return nil, fmt.Errorf("the line of column names: %w", err)
	}
	header = slices.Clone(header)
	p.width = len(header)
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t|") {
		return nil, fmt.Errorf("there is one column, %q: add --delimiter with what separates the columns (';', '|' or tab)", header[0])
	}
	for f := range p.columns {
		p.columns[f] = -1
		if m.names[f] == "" {
			continue
		}
		p.columns[f] = slices.IndexFunc(header, func(h string) bool { return strings.TrimSpace(h) == m.names[f] })
		if p.columns[f] < 0 && m.asked[f] {
			return nil, fmt.Errorf("--map %s=%s: there is no such column; the columns are %s", field(f), m.names[f], strings.Join(header, ", "))
		}
	}
	return p, nil
}

// errRow says that a row has another number of columns than the header, or unbalanced quotes.
var errRow = errors.New("no row of CSV")

// parse reads the next row and the number of its line.
func (p *csvLines) parse(r *record) (line int, err error) {
	r.reset()
	row, err := p.in.Read()
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	var broken *csv.ParseError
	if errors.As(err, &broken) {
		return broken.StartLine, errRow
	}
	if err != nil {
		return 0, err
	}
	line, _ = p.in.FieldPos(0)
	if len(row) != p.width {
		return line, errRow
	}
	for f, column := range p.columns {
		if column >= 0 {
			r.set(field(f), []byte(row[column]))
		}
	}
	return line, nil
}
