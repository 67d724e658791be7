package account

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"

	"lockpick/cluster/resp"
)

// form is a command without its arguments. Clients send the same form with other keys and tokens, and
// what one command of a form did tells where its key and its token stand.
type form struct {
	command string // as in a vote: what the first command of the form that changed a key did
	key     int    // index of the argument that is the key; -1: none is
	token   int    // index of the argument that is the token; -1: none is
}

// formOf names the form of a command.
func formOf(args []string) string {
	var b strings.Builder
	name := strings.ToLower(args[0])
	rest := args[1:]
	if runsScript(args) && len(args) > 2 {
		sha := strings.ToLower(args[1])
		if resp.HasText(name) {
			sum := sha1.Sum([]byte(args[1]))
			sha = hex.EncodeToString(sum[:])
		}
		b.WriteString(sha + " " + args[2])
		rest = args[3:]
	} else {
		b.WriteString(name)
	}
	for _, a := range rest {
		if resp.IsOption(a) {
			b.WriteString(" " + strings.ToLower(a))
		} else {
			b.WriteString(" ?")
		}
	}
	return b.String()
}

// runsScript reports whether a command runs a script or a transaction, which may fail after it has changed keys.
func runsScript(args []string) bool {
	return resp.RunsScript(args[0]) || isTransaction(args)
}

// isTransaction reports whether a command executes a transaction.
func isTransaction(args []string) bool { return strings.EqualFold(args[0], "exec") }

// isNoScript reports whether an error says that the master does not know a script. The client sends
// the script's text next.
func isNoScript(text string) bool { return strings.HasPrefix(text, "NOSCRIPT") }

// find returns the index of the first argument of a command that is accepted, and that is neither the
// text of a script nor the number of its keys; -1: there is none.
func find(args []string, accepts func(string) bool) int {
	from := 1
	if runsScript(args) {
		from = 3
	}
	for i := from; i < len(args); i++ {
		if accepts(args[i]) {
			return i
		}
	}
	return -1
}

func arg(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return args[i]
}

func printable(s string) string { return resp.Printable(s) }

// maxWords is the length in bytes up to which a command is quoted.
const maxWords = 160

// words quotes a command for people. A script is named by the beginning of its hash.
func words(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i == 1 && resp.HasText(args[0]) {
			sum := sha1.Sum([]byte(a))
			a = hex.EncodeToString(sum[:])
		}
		if i == 1 && runsScript(args) && len(a) > 8 {
			a = a[:8] + "…"
		}
		if strings.ContainsAny(a, " \t\r\n") {
			a = strconv.Quote(a)
		}
		b.WriteString(a)
		if b.Len() > maxWords {
			return printable(b.String()[:maxWords]) + "…"
		}
	}
	return printable(b.String())
}

// name names a command without its arguments: its name, and its options or the beginning of its script's
// hash.
func name(args []string) string {
	words := []string{strings.ToUpper(args[0])}
	form := strings.Fields(formOf(args))
	if runsScript(args) && len(args) > 2 {
		words = append(words, form[0][:min(8, len(form[0]))])
	}
	for _, w := range form[1:] {
		if resp.IsOption(w) {
			words = append(words, strings.ToUpper(w))
		}
	}
	return printable(strings.Join(words, " "))
}
