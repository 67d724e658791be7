package history

import "hash/maphash"

// texts numbers texts in the order in which they first occur. Its index takes 5 to 11 bytes a text, and a map of them 40.
type texts struct {
	all   []string
	index []int32 // open addressing: the number of a text plus 1, at the first free place from its hash on
	seed  maphash.Seed
}

// number returns the number of a text; a new text gets the next number.
func (t *texts) number(text string) int32 {
	if 4*len(t.all) >= 3*len(t.index) {
		t.grow()
	}
	slot := t.slot(text)
	if t.index[slot] == 0 {
		t.all = append(t.all, text)
		t.index[slot] = int32(len(t.all))
	}
	return t.index[slot] - 1
}

// find returns the number of a text, or -1.
func (t *texts) find(text string) int32 {
	if len(t.index) == 0 {
		return -1
	}
	return t.index[t.slot(text)] - 1
}

// slot returns the place of a text in the index, or where it would be.
func (t *texts) slot(text string) int {
	mask := len(t.index) - 1
	slot := int(maphash.String(t.seed, text)) & mask
	for t.index[slot] != 0 && t.all[t.index[slot]-1] != text {
		slot = (slot + 1) & mask
	}
	return slot
}

func (t *texts) grow() {
	if len(t.index) == 0 {
		t.seed = maphash.MakeSeed()
	}
	t.index = make([]int32, max(16, 2*len(t.index)))
	for i, text := range t.all {
		t.index[t.slot(text)] = int32(i + 1)
	}
}
