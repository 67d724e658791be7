package exhaust

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
)

// Distinct counts the different states that several shards visited. It stores a hash of 64 bits of each
// state. If there are more than maxDistinct, it stores only the hashes whose lowest Level bits are zero, and
// estimates the number (adaptive sampling). Level is the smallest with at most maxDistinct hashes, so the
// union of any Distincts depends only on the states.
type Distinct struct {
	Level  int    `json:"level"`
	Hashes hashes `json:"hashes"` // ascending
}

// maxDistinct is the greatest number of hashes that are stored: 7 MB, or 9 MB in JSON. The estimate of a
// larger number of states deviates by about 0.1 %.
var maxDistinct = 1 << 20

// maxLevel is the greatest valid Distinct.Level.
const maxLevel = 63

// distinct returns the states that the search visited.
func (g *graph) distinct() Distinct {
	d := Distinct{Hashes: make(hashes, 0, len(g.index))}
	for s := range g.index {
		d.Hashes = append(d.Hashes, shortHash(s))
	}
	return unite(d)
}

// shortHash returns a hash of 64 bits, all of them equally random. The bits of a state, which is an FNV hash,
// are not.
func shortHash(s state) uint64 {
	return mix(mix(binary.LittleEndian.Uint64(s[:8])) ^ binary.LittleEndian.Uint64(s[8:]))
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unite returns the union of several sets of states.
func unite(all ...Distinct) Distinct {
	var u Distinct
	for _, d := range all {
		u.Level = max(u.Level, d.Level)
	}
	for _, d := range all {
		u.Hashes = append(u.Hashes, d.atLevel(u.Level).Hashes...)
	}
	slices.Sort(u.Hashes)
	u.Hashes = slices.Compact(u.Hashes)
	for len(u.Hashes) > maxDistinct {
		u = u.atLevel(u.Level + 1)
	}
	return u
}

// atLevel returns the hashes that d stores at a level, which must not be below its own.
func (d Distinct) atLevel(level int) Distinct {
	if level == d.Level {
		return d
	}
	kept := hashes{}
	for _, h := range d.Hashes {
		if h&(1<<level-1) == 0 {
			kept = append(kept, h)
		}
	}
	return Distinct{level, kept}
}

// Count returns the number of states, and whether it is exact.
func (d Distinct) Count() (n int, exact bool) { return len(d.Hashes) << d.Level, d.Level == 0 }

// hashes holds hashes in ascending order. Its JSON is a base64 string with the differences as varints.
type hashes []uint64

// MarshalJSON encodes the hashes.
func (h hashes) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 7*len(h))
	last := uint64(0)
	for _, x := range h {
		b = binary.AppendUvarint(b, x-last)
		last = x
	}
	return json.Marshal(b)
}

// UnmarshalJSON decodes hashes.
func (h *hashes) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*h = hashes{}
	for last := uint64(0); len(b) > 0; {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			return errors.New("the hashes of states are damaged")
		}
		last += x
		*h, b = append(*h, last), b[n:]
	}
	return nil
}
