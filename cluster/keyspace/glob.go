package keyspace

// Matches reports whether a text matches a pattern of KEYS or PSUBSCRIBE: * ? [a-z] [^a] and \.
func Matches(pattern, s string) bool {
	for len(pattern) > 0 {
		switch pattern[0] {
		case '*':
			for len(pattern) > 0 && pattern[0] == '*' {
				pattern = pattern[1:]
			}
			for i := 0; i <= len(s); i++ {
				if Matches(pattern, s[i:]) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
			pattern, s = pattern[1:], s[1:]
		case '[':
			if s == "" {
				return false
			}
			in, rest := inClass(pattern[1:], s[0])
			if !in {
				return false
			}
			pattern, s = rest, s[1:]
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if s == "" || s[0] != pattern[0] {
				return false
			}
			pattern, s = pattern[1:], s[1:]
		}
	}
	return s == ""
}

// inClass reports whether a class of characters such as ^a-z] contains c, and returns the pattern
// after it.
func inClass(class string, c byte) (in bool, rest string) {
	not := class != "" && class[0] == '^'
	if not {
		class = class[1:]
	}
	for class != "" && class[0] != ']' {
		if class[0] == '\\' && len(class) > 1 {
			class = class[1:]
			in = in || class[0] == c
		} else if len(class) > 2 && class[1] == '-' {
			low, high := min(class[0], class[2]), max(class[0], class[2])
			in = in || low <= c && c <= high
			class = class[2:]
		} else {
			in = in || class[0] == c
		}
		class = class[1:]
	}
	if class != "" {
		class = class[1:]
	}
	return in != not, class
}
