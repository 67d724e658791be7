package history

import "hash/maphash"

// interner makes equal texts share their bytes, because a token occurs in a dozen lines. Its
// memory is bounded: a text that another one displaced is allocated again.
type interner struct {
	seed  maphash.Seed
	texts *[internSize]string
}

const internSize = 1 << 12

func (in *interner) get(b []byte) string {
	if in.texts == nil {
		in.seed, in.texts = maphash.MakeSeed(), new([internSize]string)
	}
	known := &in.texts[maphash.Bytes(in.seed, b)%internSize]
	if *known != string(b) {
		*known = string(b)
	}
	return *known
}
