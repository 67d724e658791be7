package cluster

import (
	"slices"
	"strings"
)

// refused are the commands that no lock sends, in lower case: they change the server, other connections or all keys at
// once. A command with subcommands is refused for these alone.
var refused = map[string][]string{
	"flushall": nil, "flushdb": nil, "swapdb": nil,
	"shutdown": nil, "debug": nil, "config": nil, "acl": nil, "module": nil, "monitor": nil,
	"save": nil, "bgsave": nil, "bgrewriteaof": nil,
	"replicaof": nil, "slaveof": nil, "failover": nil, "sync": nil, "psync": nil, "migrate": nil,
	"client":   {"kill", "pause", "unpause"},
	"script":   {"flush", "kill"},
	"function": {"flush", "kill"},
}

// Refused returns the name in upper case of a command that masters refuse unless Config.Admin is set, such as FLUSHALL
// or CLIENT KILL. It returns "" for all other commands.
func Refused(name string, args ...string) string {
	subcommands, is := refused[strings.ToLower(name)]
	switch {
	case !is:
		return ""
	case subcommands == nil:
		return strings.ToUpper(name)
	case len(args) > 0 && slices.Contains(subcommands, strings.ToLower(args[0])):
		return strings.ToUpper(name + " " + args[0])
	}
	return ""
}

// RefusedNames lists these commands as Redis names them in the rules of a user (ACL), sorted: client|kill, flushall.
func RefusedNames() (all []string) {
	for name, subcommands := range refused {
		if subcommands == nil {
			all = append(all, name)
		}
		for _, sub := range subcommands {
			all = append(all, name+"|"+sub)
		}
	}
	slices.Sort(all)
	return all
}
