package logs

// record holds the facts of a line of a log, or of a span in it: a text for each field.
type record struct {
	text [numFields][]byte // the values of the present fields
	bad  [numFields]bool   // present, but an object, an array or a boolean
	has  [numFields]bool
	seen [numFields]bool // present, with any value
	buf  []byte          // the memory of the texts

	digits [timeFields]uint8 // decimals of a second in the parsed times
}

func (r *record) reset() {
	r.text, r.bad, r.has, r.seen, r.digits, r.buf = [numFields][]byte{}, [numFields]bool{}, [numFields]bool{}, [numFields]bool{}, [timeFields]uint8{}, r.buf[:0]
}

// set stores a copy of the first value of a field. An empty value counts as none.
func (r *record) set(f field, value []byte) {
	r.seen[f] = true
	if r.has[f] || len(value) == 0 {
		return
	}
	from := len(r.buf)
	r.buf = append(r.buf, value...)
	r.text[f], r.has[f] = r.buf[from:len(r.buf):len(r.buf)], true
}

// markUnusable records that a field has a value that is neither text nor a number.
func (r *record) markUnusable(f field) {
	r.seen[f] = true
	if !r.has[f] {
		r.bad[f] = true
	}
}
