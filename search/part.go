package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"lockpick/campaign"
	"lockpick/internal/otherfile"
	"lockpick/internal/plural"
	"lockpick/internal/wholefile"
)

// partFormat is the version of the format of parts.
const partFormat = 2

// Job is work that shards share. It consists of named units: the claims of a verification, the situations of an audit,
// runs of schedules of an exploration. The i-th unit, from 0, belongs to shard i mod Shards + 1, so every shard is a fair
// sample.
type Job struct {
	Format   int               `json:"lockpick_part"`
	Kind     string            `json:"kind"`     // what the units are: claims, situations, schedules
	Lockpick string            `json:"lockpick"` // the version that does the work
	Of       map[string]string `json:"of"`       // everything that the results depend on, by name
	Units    []string          `json:"units"`    // of the whole job, in order
	Shards   int               `json:"shards"`
}

// Part has results of a job, by unit. Its file has the Job as JSON in its first line, and in each further line the result
// of a unit, written as soon as that is known. So a shard that was killed goes on where its file ends, and files of parts
// that are written one after the other are again a file of parts.
type Part[R any] struct {
	Job
	Done map[string]R

	out    io.Writer
	failed error             // of the last write: what follows half a line could not be read
	from   map[string]string // the file of each result
}

// line is a line of a part: the job, or the result of a unit.
type line struct {
	*Job
	Unit   string          `json:"unit,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Comparable is implemented by results of units that may differ in what says nothing, such as times.
type Comparable interface {
	// Compared returns what all results of the unit have in common.
	Compared() any
}

// ErrParts reports that parts do not belong together, or that a file is not a part.
var ErrParts = errors.New("these parts cannot be read as one job")

// NewPart returns a part without results. of names everything that the results depend on.
func NewPart[R any](kind string, of map[string]string, units []string, s Shard) *Part[R] {
	return &Part[R]{
		Job:  Job{Format: partFormat, Kind: kind, Lockpick: campaign.Version(), Of: of, Units: units, Shards: max(1, s.Count)},
		Done: map[string]R{}, from: map[string]string{}, out: io.Discard,
	}
}

// Open opens the file to which Add writes, until the caller calls close. What a regular file has already counts as done; a
// shard that was killed may have left part of a line, which is removed. It fails with ErrParts if the file is of another job
// or not a part, and leaves it as it is.
func (p *Part[R]) Open(path string) (close func() error, err error) {
	f, err := wholefile.Append(path, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	complete := 0
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		content, err := otherfile.Read(path, otherfile.MaxPart)
		if err != nil {
			return nil, err
		}
		if complete = bytes.LastIndexByte(content, '\n') + 1; complete > 0 || !bytes.HasPrefix(content, partBegins) {
			if _, err := p.read(path, content); err != nil {
				return nil, fmt.Errorf("%s is there and cannot be resumed: %w", path, err)
			}
		}
		if complete < len(content) {
			if err := f.Truncate(int64(complete)); err != nil {
				return nil, err
			}
		}
	}
	p.out = f
	if complete == 0 {
		return f.Close, p.write(line{Job: &p.Job})
	}
	return f.Close, nil
}

// Add adds the result of a unit, and writes it.
func (p *Part[R]) Add(unit string, r R) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.Done[unit] = r
	return p.write(line{Unit: unit, Result: text})
}

func (p *Part[R]) write(l line) error {
	text, err := json.Marshal(l)
	if err == nil && p.failed == nil {
		_, p.failed = p.out.Write(append(text, '\n')) // at once: a killed shard leaves complete lines
	}
	return cmp.Or(err, p.failed)
}

// partBegins is how the file of a part begins.
var partBegins = []byte(`{"lockpick_part":`)

// IsPart reports whether a file begins as a part does.
func IsPart(file string) bool {
	f, err := otherfile.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	got := make([]byte, len(partBegins))
	_, err = io.ReadFull(f, got)
	return err == nil && bytes.Equal(got, partBegins)
}

// ReadParts reads files of parts of one job. The order of files does not matter, nor does it that results are there twice: the one
// whose JSON sorts first counts. The notes name such shards. It fails with ErrParts if the parts are of different jobs
// or versions, or if two results of a unit differ.
func ReadParts[R any](kind string, files ...string) (p *Part[R], notes []string, err error) {
	p = &Part[R]{Job: Job{Kind: kind}, Done: map[string]R{}, from: map[string]string{}}
	twice := map[int]bool{}
	for _, file := range files {
		content, err := otherfile.Read(file, otherfile.MaxPart)
		if err != nil {
			return nil, nil, err
		}
		again, err := p.read(file, content)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, shard := range again {
			twice[shard] = true
		}
	}
	if len(twice) > 0 {
		notes = append(notes, "these shards occur more than once, and count once: "+ranges(slices.Sorted(maps.Keys(twice))))
	}
	return p, notes, nil
}

// read adds the results in the content of a file, and returns the shards of which results were known already.
func (p *Part[R]) read(file string, content []byte) (twice []int, err error) {
	shards := map[string]int{} // by unit
	begun := false
	for text := range bytes.Lines(content) {
		if !bytes.HasSuffix(text, []byte("\n")) {
			break // the shard was killed while it wrote the line
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("%w: it is not the JSON that --out writes: %w", ErrParts, err)
		}
		switch {
		case l.Job != nil:
			if err := p.begin(l.Job); err != nil {
				return nil, err
			}
			begun = true
			for i, unit := range p.Units {
				shards[unit] = p.shardOf(i)
			}
			continue
		case !begun:
			return nil, fmt.Errorf("%w: it does not begin with the job", ErrParts)
		case shards[l.Unit] == 0:
			return nil, fmt.Errorf("%w: there is no %q in the job", ErrParts, l.Unit)
		}
		known, err := p.add(file, l, shards[l.Unit])
		if err != nil {
			return nil, err
		}
		if known {
			twice = append(twice, shards[l.Unit])
		}
	}
	switch {
	case begun:
	case bytes.HasPrefix(content, partBegins):
		return nil, fmt.Errorf("%w: its first line is not complete: the shard ended while it wrote it", ErrParts)
	default:
		return nil, fmt.Errorf("%w: it is not a part", ErrParts)
	}
	return twice, nil
}

// begin takes the job of a part, which must be that of the parts before.
func (p *Part[R]) begin(j *Job) error {
	switch {
	case j.Format != partFormat:
		return fmt.Errorf("%w: the format is %d, and this version reads %d", ErrParts, j.Format, partFormat)
	case j.Kind != p.Kind:
		return fmt.Errorf("%w: its units are %q, not %s", ErrParts, j.Kind, p.Kind)
	case j.Shards < 1 || j.Shards > maxShards || len(j.Units) == 0:
		return fmt.Errorf("%w: it lacks its units or the number of shards", ErrParts)
	case p.Shards == 0: // the first one
		p.Job = *j
		return nil
	}
	if why := p.differs(j); why != "" {
		return fmt.Errorf("%w: it has %s", ErrParts, why)
	}
	return nil
}

// add adds the result of a unit, and reports whether there was one.
func (p *Part[R]) add(file string, l line, shard int) (again bool, err error) {
	var r R
	if err := json.Unmarshal(l.Result, &r); err != nil {
		return false, fmt.Errorf("%w: the result of %s: %w", ErrParts, l.Unit, err)
	}
	known, again := p.Done[l.Unit]
	if again {
		if where, a, b := difference(compared(known), compared(r)); where != "" {
			return true, fmt.Errorf("%w: shard %d occurs twice, with different results of %s: %s is %s in %s, and %s in %s",
				ErrParts, shard, l.Unit, cmp.Or(strings.Trim(where, "."), "it"), a, p.from[l.Unit], b, file)
		}
		if bytes.Compare(encoded(known), encoded(r)) <= 0 {
			return true, nil
		}
	}
	p.Done[l.Unit], p.from[l.Unit] = r, file
	return again, nil
}

// encoded returns a result as JSON. All results come from JSON or are written as JSON.
func encoded(x any) []byte {
	b, _ := json.Marshal(x)
	return b
}

// compared returns what results of the same unit have in common, as JSON does.
func compared(r any) (plain any) {
	if c, ok := r.(Comparable); ok {
		r = c.Compared()
	}
	_ = json.Unmarshal(encoded(r), &plain)
	return plain
}

// difference returns where two JSON values first differ, and what is there in each; where is empty if they do not.
func difference(a, b any) (where, inA, inB string) {
	if x, y := reflect.ValueOf(a), reflect.ValueOf(b); a != nil && b != nil && x.Kind() == y.Kind() {
		switch x.Kind() {
		case reflect.Map:
			fields := slices.AppendSeq(slices.Collect(maps.Keys(a.(map[string]any))), maps.Keys(b.(map[string]any)))
			slices.Sort(fields)
			for _, f := range fields {
				if where, inA, inB = difference(a.(map[string]any)[f], b.(map[string]any)[f]); where != "" {
					return "." + f + where, inA, inB
				}
			}
			return "", "", ""
		case reflect.Slice:
			for i := range min(x.Len(), y.Len()) {
				if where, inA, inB = difference(a.([]any)[i], b.([]any)[i]); where != "" {
					return fmt.Sprintf("[%d]%s", i, where), inA, inB
				}
			}
		}
	}
	if reflect.DeepEqual(a, b) {
		return "", "", ""
	}
	return ".", fmt.Sprintf("%.100s", encoded(a)), fmt.Sprintf("%.100s", encoded(b))
}

// differs returns why another job is not the same, or "".
func (j *Job) differs(other *Job) string {
	for _, f := range []struct {
		what       string
		mine, that any
	}{
		{"the version of Lockpick", j.Lockpick, other.Lockpick}, {"the number of shards", j.Shards, other.Shards},
	} {
		if f.mine != f.that {
			return fmt.Sprintf("%s %v, the first one %v", f.what, f.that, f.mine)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Of)) {
		mine, that := strings.Split(j.Of[name], "\n"), strings.Split(other.Of[name], "\n")
		for i := range max(len(mine), len(that)) { // a scenario has many lines
			if a, b := at(mine, i), at(that, i); a != b {
				return fmt.Sprintf("another %s: %q where the first one has %q", name, b, a)
			}
		}
	}
	switch {
	case len(j.Of) != len(other.Of):
		return "more options than the first one"
	case !slices.Equal(j.Units, other.Units):
		return "other " + j.Kind + " than the first one"
	}
	return ""
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// Versions returns the versions that the job's result names.
func (j *Job) Versions() map[string]string {
	v := Versions()
	v["lockpick"] = j.Lockpick
	return v
}

// shardOf returns the index, from 1, of the shard that a unit belongs to.
func (j *Job) shardOf(unit int) int { return unit%j.Shards + 1 }

// Left returns the units of a shard that are not done.
func (p *Part[R]) Left(s Shard) []string {
	var left []string
	for i := max(1, s.Index) - 1; i < len(p.Units); i += p.Shards {
		if _, done := p.Done[p.Units[i]]; !done {
			left = append(left, p.Units[i])
		}
	}
	return left
}

// mostNamed limits the units that Missing names of a shard.
const mostNamed = 5

// Missing names the shards with units that are not done.
func (p *Part[R]) Missing() []string {
	var none []int
	var all []string
	for i := 1; i <= p.Shards; i++ {
		left := p.Left(Shard{i, p.Shards})
		more := ""
		if n := len(left) - mostNamed; n > 1 {
			more = fmt.Sprintf(" and %d more", n)
		}
		switch own := (len(p.Units) - i + p.Shards) / p.Shards; {
		case len(left) == 0:
		case len(left) == own:
			none = append(none, i)
		case more != "":
			all = append(all, fmt.Sprintf("shard %d lacks %s %s%s", i, p.Kind, strings.Join(left[:mostNamed], ", "), more))
		default:
			all = append(all, fmt.Sprintf("shard %d lacks %s %s", i, p.Kind, strings.Join(left, ", ")))
		}
	}
	if len(none) > 0 {
		all = append([]string{fmt.Sprintf("%s of %d: %s", plural.Count(len(none), "shard is missing", "shards are missing"), p.Shards, ranges(none))}, all...)
	}
	return all
}

// ranges renders numbers in ascending order, as in 1, 3-5, 8.
func ranges(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		} else {
			out = append(out, fmt.Sprint(numbers[i]))
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}
