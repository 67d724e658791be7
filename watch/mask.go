package watch

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lockpick/cluster/resp"
)

// masker replaces tokens and keys by hashes with a random salt that is never stored.
type masker struct {
	salt     [32]byte
	hashKeys bool
	plain    bool
}

func newMasker(opt Options) *masker {
	m := &masker{hashKeys: opt.HashKeys, plain: opt.Plain}
	rand.Read(m.salt[:])
	return m
}

func (m *masker) hash(kind, text string) string {
	h := hmac.New(sha256.New, m.salt[:])
	h.Write([]byte(kind))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// token returns the hash that replaces a token everywhere, or the token itself if it may be printed.
func (m *masker) token(text string) string {
	if m.plain {
		return text
	}
	return m.hash("token", text)
}

// key returns a key in the form in which it is printed: quoted and shortened if necessary, or hashed.
func (m *masker) key(text string) string {
	if m.hashKeys {
		return "key:" + m.hash("key", text)
	}
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	printed := strconv.Quote(text)
	if utf8.ValidString(text) && printed == `"`+text+`"` && !strings.ContainsRune(text, ' ') {
		return text
	}
	return printed
}

// masked formats a command without its values.
func (m *masker) masked(args []string, tokenAt int) string {
	name := strings.ToUpper(args[0])
	words := []string{name}
	keyAt, expiry := 1, numberAt(args)
	script := resp.RunsScript(name)
	if script {
		keyAt = 3
	}
	for i, a := range args[1:] {
		i++
		switch {
		case script && i == 1:
			words = append(words, "<script>")
		case script && i == 2:
			words = append(words, "1")
		case i == keyAt:
			words = append(words, m.key(a))
		case i == tokenAt:
			if m.plain {
				words = append(words, m.key(a)) // quoted and shortened, as keys are
				break
			}
			words = append(words, "<token "+m.token(a)[:6]+">")
		case i > tokenAt && resp.IsOption(a) || i == expiry:
			words = append(words, a)
		default:
			words = append(words, "<…>")
		}
	}
	return strings.Join(words, " ")
}

// numberAt returns the index of a command's TTL or deadline; 0: it has none, or it is not a number.
func numberAt(args []string) int {
	at, _ := resp.ExpiryAt(args)
	if _, err := strconv.ParseInt(args[at], 10, 64); err != nil {
		return 0
	}
	return at
}

// answer formats a reply without its values.
func answer(r *resp.Reply) string {
	switch {
	case r == nil:
		return "(no reply)"
	case errorCode(r) != "":
		return "(error) " + errorCode(r)
	case r.Null:
		return "nil"
	case r.Type == ':':
		return strconv.FormatInt(r.Int, 10)
	case string(r.Text) == "OK":
		return "OK"
	}
	return "<…>"
}

// errorCode returns the code of an error, the first word of its text, such as READONLY; empty: the reply is not an error.
func errorCode(r *resp.Reply) string {
	if r == nil || r.Type != '-' && r.Type != '!' {
		return ""
	}
	code, _, _ := strings.Cut(string(r.Text), " ")
	if code = strings.Map(letters, code); code == "" {
		return "ERR"
	}
	return code
}

func letters(r rune) rune {
	if r >= 'A' && r <= 'Z' || r == '_' {
		return r
	}
	return -1
}

// Weakness returns why a token may be guessed or repeat; empty if it seems random enough.
func Weakness(token string) string {
	n := utf8.RuneCountInString(token)
	digits, lower, upper, other := 0, 0, 0, 0
	var distinct []rune // at most five
	for _, r := range token {
		if len(distinct) < 5 && !slices.Contains(distinct, r) {
			distinct = append(distinct, r)
		}
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLower(r):
			lower++
		case unicode.IsUpper(r):
			upper++
		case r != '.' && r != '-' && r != ':' && r != '_':
			other++
		}
	}
	if digits > 0 && lower+upper+other == 0 {
		if n <= 24 {
			return fmt.Sprintf("a number of %d characters", n)
		}
		return ""
	}
	if !utf8.ValidString(token) { // bytes
		if len(token) < 8 {
			return fmt.Sprintf("only %d bytes", len(token))
		}
		return ""
	}
	alphabet := 0.0
	for _, class := range []struct {
		n    int
		size float64
	}{{digits, 10}, {lower, 26}, {upper, 26}, {other, 30}} {
		if class.n > 0 {
			alphabet += class.size
		}
	}
	bits := float64(n) * math.Log2(max(alphabet, 1))
	switch {
	case n == 0:
		return "empty"
	case bits < 64:
		return fmt.Sprintf("only %d characters, at most %.0f bits", n, bits)
	case len(distinct) <= 4:
		return fmt.Sprintf("only %d different characters", len(distinct))
	}
	return ""
}

// at formats a time since the watch began.
func at(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }
