// Package inputs tries fuzz targets with many inputs at full speed: without the coverage instrumentation and
// the worker processes of go test -fuzz, which take some hundred times as long as a parser. Go's fuzzer finds
// inputs that reach new code; this package tries far more variants of the known inputs.
//
//	go test ./history -run 'TestManyInputs/FuzzLine' -inputs 10000000
package inputs

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	number = flag.Int("inputs", 500, "how many inputs to try on each parser")
	limit  = flag.Duration("inputs.for", 0, "how long to try inputs on each parser; 0: without a limit")
	seed   = flag.Uint64("inputs.seed", 1, "the seed of the inputs; 0: the time")
)

// maxLength is the greatest length of an input, in bytes; longer ones are cut.
const maxLength = 4 << 10

// Random returns the random generator for a parser's inputs, with the seed of -inputs.seed.
func Random(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
		t.Logf("-inputs.seed %d", s)
	}
	return rand.New(rand.NewPCG(s, 0))
}

// Try calls check with the seeds of a fuzz target (the given ones, and those in testdata/fuzz) and then with
// mutated seeds, as many in all as -inputs says. It logs the input at which a check fails or panics.
func Try(t *testing.T, target string, seeds [][]byte, check func(t *testing.T, input []byte)) {
	t.Helper()
	stored, err := corpus(target)
	if err != nil {
		t.Fatal(err)
	}
	seeds = append(seeds, stored...)
	if len(seeds) == 0 {
		t.Fatalf("%s has no seeds", target)
	}
	// Inputs are small: with the default target, a quarter of the time goes into collecting a few megabytes
	// of garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	m := NewMutator(Random(t), seeds)
	n := 0
	Count(t, target, func() (input any) {
		b := m.Next()
		if n < len(seeds) {
			b = seeds[n]
		}
		n++
		return b
	}, func(t *testing.T, input any) { check(t, input.([]byte)) })
}

// Count calls check with as many inputs as -inputs says. It logs the input at which a check fails, and
// otherwise the one that takes longest.
func Count(t *testing.T, target string, next func() any, check func(t *testing.T, input any)) {
	t.Helper()
	began := time.Now()
	var input, slowest any
	var longest time.Duration
	done := false
	defer func() {
		if !done {
			t.Logf("%s: the input is %q", target, input)
		}
	}()
	tried := 0
	for ; tried < *number && (*limit == 0 || time.Since(began) < *limit); tried++ {
		input = next()
		start := time.Now()
		check(t, input)
		if took := time.Since(start); took > longest {
			slowest, longest = input, took
		}
		if t.Failed() {
			return
		}
	}
	done = true
	t.Logf("%s: %d inputs in %v; the slowest took %v: %q", target, tried, time.Since(began).Round(time.Second), longest.Round(time.Microsecond), slowest)
}

// corpus reads the inputs in testdata/fuzz that have one argument.
func corpus(target string) ([][]byte, error) {
	paths, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		_, value, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		value, ok := strings.CutPrefix(value, "[]byte(")
		if !ok {
			if value, ok = strings.CutPrefix(value, "string("); !ok {
				return nil, fmt.Errorf("%s is not an input with one text", path)
			}
		}
		s, err := strconv.Unquote(strings.TrimSuffix(value, ")"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, []byte(s))
	}
	return all, nil
}

// Mutator makes inputs by changing seeds.
type Mutator struct {
	random *rand.Rand
	seeds  [][]byte
	tokens [][]byte
}

// odd lists texts that often make parsers fail.
var odd = []string{
	"", "0", "-1", "1e999", "9223372036854775808", "-9223372036854775809", "0.1", "NaN", "null", "true", "\x00", "\xff\xfe", "\r\n", "\n",
	"\"", "'", "\\", "\\u0000", "\\ud800", "{", "}", "[", "]", ":", ",", "- ", "  ", "\t", "&a ", "*a", "!!", "#", "%", "é", "\U0001f512",
}

// NewMutator returns a mutator for seeds. It inserts words of the seeds and the texts of odd.
func NewMutator(r *rand.Rand, seeds [][]byte) *Mutator {
	m := &Mutator{random: r, seeds: seeds}
	for _, s := range odd {
		m.tokens = append(m.tokens, []byte(s))
	}
	seen := map[string]bool{}
	for _, s := range seeds {
		for _, word := range bytes.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \n\r\t,:{}[]\"", r) }) {
			if len(word) < 40 && !seen[string(word)] {
				seen[string(word)] = true
				m.tokens = append(m.tokens, word)
			}
		}
	}
	return m
}

// Next returns a mutated seed: one to eight changes of bytes, ranges and words.
func (m *Mutator) Next() []byte {
	b := bytes.Clone(m.seeds[m.random.IntN(len(m.seeds))])
	for range 1 + m.random.IntN(1<<m.random.IntN(4)) {
		b = m.Change(b)
	}
	return b[:min(len(b), maxLength)]
}

// Change makes one change to an input. The result may share the input's memory.
func (m *Mutator) Change(b []byte) []byte {
	r := m.random
	from := r.IntN(len(b) + 1)
	to := from + r.IntN(min(len(b)-from, 1<<r.IntN(8))+1)
	switch r.IntN(9) {
	case 0: // flips a bit
		if from < len(b) {
			b[from] ^= 1 << r.IntN(8)
		}
		return b
	case 1: // changes a byte
		if from < len(b) {
			b[from] = byte(r.Uint32())
		}
		return b
	case 2: // removes a range
		return append(b[:from], b[to:]...)
	case 3: // repeats a range
		return bytes.Join([][]byte{b[:to], b[from:]}, nil)
	case 4: // moves a range
		at := r.IntN(len(b) + 1)
		rest := append(bytes.Clone(b[:from]), b[to:]...)
		at = min(at, len(rest))
		return bytes.Join([][]byte{rest[:at], b[from:to], rest[at:]}, nil)
	case 5: // appends the end of another seed
		other := m.seeds[r.IntN(len(m.seeds))]
		return append(b[:from:from], other[r.IntN(len(other)+1):]...)
	case 6: // inserts a word
		return bytes.Join([][]byte{b[:from], m.tokens[r.IntN(len(m.tokens))], b[from:]}, nil)
	case 7: // replaces a range by a word
		return bytes.Join([][]byte{b[:from], m.tokens[r.IntN(len(m.tokens))], b[to:]}, nil)
	default: // changes a digit
		for i := from; i < len(b); i++ {
			if b[i] >= '0' && b[i] <= '9' {
				b[i] = byte('0' + r.IntN(10))
				break
			}
		}
		return b
	}
}

// Texts converts texts to seeds.
func Texts(texts []string) [][]byte {
	var all [][]byte
	for _, s := range texts {
		all = append(all, []byte(s))
	}
	return all
}
