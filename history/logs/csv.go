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

// csvLines parses the mapped fields of CSV rows.
type csvLines struct {
	in      *csv.Reader
	columns [numFields]int // by field: its column; -1: none
	width   int
	rows    *rowReader
	line    int // the line in which the previous row began
	header  []string
}

// rowReader limits the bytes of a row: after a quote without an end, encoding/csv would keep the
// rest of the file in memory.
type rowReader struct {
	in   io.Reader
	left int
}

func (r *rowReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLongRow
	}
	n, err := r.in.Read(b[:min(len(b), r.left)])
	r.left -= n
	return n, err
}

// next resets the limit for the next row.
func (r *rowReader) next() { r.left = MaxLine }

var errLongRow = errors.New("a row is too long")

func (p *csvLines) tooLong() error {
	return fmt.Errorf("the row after the one in line %d is longer than 16 MiB: probably a quote (\") in it has no end", p.line)
}

// newCSVLines reads the header and finds the columns of the mapped fields.
func newCSVLines(in io.Reader, m *mapping, delimiter rune) (*csvLines, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	if mark, err := b.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = b.Discard(3) // the byte order mark that spreadsheets write
	}
	p := &csvLines{rows: &rowReader{in: b, left: MaxLine}}
	p.in = csv.NewReader(p.rows)
	if delimiter != 0 {
		p.in.Comma = delimiter
	}
	p.in.ReuseRecord, p.in.FieldsPerRecord, p.in.LazyQuotes = true, -1, true
	header, err := p.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: CSV begins with a line of column names")
	}
	if errors.Is(err, errLongRow) {
		return nil, errors.New("the line of column names is longer than 16 MiB: is this CSV?")
	}
	if err != nil {
		return nil, fmt.Errorf("the line of column names: %w", err)
	}
	header = slices.Clone(header)
	p.width, p.header, p.line = len(header), header, 1
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t|") {
		return nil, fmt.Errorf("there is one column, %q: add --delimiter with what separates the columns (';', '|' or tab)", short(header[0]))
	}
	for f := range p.columns {
		p.columns[f] = -1
		if m.names[f] == "" {
			continue
		}
		p.columns[f] = slices.IndexFunc(header, func(h string) bool { return strings.TrimSpace(h) == m.names[f] })
		if p.columns[f] < 0 && m.asked[f] {
			columns := fieldSample{}
			for _, h := range header {
				columns.add(strings.TrimSpace(h))
			}
			help := ""
			if like := columns.like(m.names[f]); like != "" {
				help = fmt.Sprintf(" (did you mean %q?)", like)
			}
			return nil, fmt.Errorf("--map %s=%s: there is no such column%s; the columns are %s", field(f), m.names[f], help, columns.list())
		}
	}
	return p, nil
}

// errRow is the error for a row that has another number of columns than the header, or unbalanced
// quotes.
var errRow = errors.New("no row of CSV")

// parse reads the next row into r and returns the number of its line.
func (p *csvLines) parse(r *record) (line int, err error) {
	r.reset()
	p.rows.next()
	row, err := p.in.Read()
	if errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	if errors.Is(err, errLongRow) {
		return 0, p.tooLong()
	}
	var broken *csv.ParseError
	if errors.As(err, &broken) {
		return broken.StartLine, errRow
	}
	if err != nil {
		return 0, err
	}
	line, _ = p.in.FieldPos(0)
	p.line = line
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
