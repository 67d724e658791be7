package resp

import "strings"

// options holds the words by which commands of Redis and Valkey say what they do with a key.
var options = map[string]bool{
	"nx": true, "xx": true, "gt": true, "lt": true, "get": true, "ex": true, "px": true, "exat": true, "pxat": true, "keepttl": true,
	"ifeq": true, "ifne": true, "persist": true,
}

// IsOption reports whether an argument is such a word, in capitals or not.
func IsOption(arg string) bool { return options[strings.ToLower(arg)] }

// scripts holds the commands that run a script or a function. Its text, hash or name is the first argument, the number
// of its keys the second one.
var scripts = map[string]bool{"eval": true, "evalsha": true, "eval_ro": true, "evalsha_ro": true, "fcall": true, "fcall_ro": true}

// RunsScript reports whether a command, in capitals or not, runs a script.
func RunsScript(name string) bool { return scripts[strings.ToLower(name)] }

// HasText reports whether the first argument of a command is the text of a script.
func HasText(name string) bool {
	return strings.EqualFold(name, "eval") || strings.EqualFold(name, "eval_ro")
}
