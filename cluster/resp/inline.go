package resp

import "strconv"

// SplitInline divides an inline command into words as Redis does. Words may be quoted by " with
// escapes, or by ' with \' as the only escape. ok is false if a quote does not end.
func SplitInline(line []byte) (words [][]byte, ok bool) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return words, true
		}
		word := []byte{}
		for i < len(line) && !isSpace(line[i]) {
			switch quote := line[i]; quote {
			case '"', '\'':
				end, text, closed := quoted(line[i+1:], quote)
				i += 1 + end
				if !closed || i < len(line) && !isSpace(line[i]) {
					return nil, false
				}
				word = append(word, text...)
			default:
				word = append(word, quote)
				i++
			}
		}
		words = append(words, word)
	}
}

// quoted reads up to and including the closing quote, and returns how many bytes that were.
func quoted(b []byte, quote byte) (n int, text []byte, closed bool) {
	for n < len(b) {
		c := b[n]
		switch {
		case c == quote:
			return n + 1, text, true
		case c == '\\' && quote == '\'' && n+1 < len(b) && b[n+1] == '\'':
			text = append(text, '\'')
			n += 2
		case c == '\\' && quote == '"' && n+3 < len(b) && b[n+1] == 'x' && isHex(b[n+2]) && isHex(b[n+3]):
			v, _ := strconv.ParseUint(string(b[n+2:n+4]), 16, 8)
			text = append(text, byte(v))
			n += 4
		case c == '\\' && quote == '"' && n+1 < len(b):
			text = append(text, unescaped(b[n+1]))
			n += 2
		default:
			text = append(text, c)
			n++
		}
	}
	return n, nil, false
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
