package resp

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Succeeded reports whether a reply means that a command succeeded. An array contains the results that
// failed.
func Succeeded(r *Reply) bool {
	switch r.Type {
	case ':', '#':
		return r.Int > 0
	case '*', '~', '%':
		return !r.Null && len(r.Elems) == 0
	}
	return !r.Null && string(r.Text) != "0"
}

// ReplyOf decodes one complete reply; nil: it is not one.
func ReplyOf(b []byte) (r *Reply) {
	d := decoder{emit: func(x *Reply) error {
		r = &Reply{Value: x.Value, Elems: slices.Clone(x.Elems)}
		return nil
	}}
	if d.feed(bytes.Clone(b)) != nil {
		return nil
	}
	return r
}

// maxPrinted limits the length of names and tokens in votes, in bytes.
const maxPrinted = 512

// Printable makes a key or a token, which may be any bytes, valid in a history.
func Printable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.Trim(strconv.QuoteToASCII(s), `"`)
	}
	if len(s) > maxPrinted {
		s = strings.ToValidUTF8(s[:maxPrinted], "")
	}
	return s
}
