package sim

import (
	"maps"
	"slices"
	"strings"

	"lockpick/cluster/keyspace"
)

// commandCount is the number of commands of Redis 7.0.
const commandCount = 240

// describe implements COMMAND, as far as the tables of commands say what Redis does: hints, categories,
// texts and subcommands are left out.
func describe(m *Master, args []string) keyspace.Reply {
	sub := ""
	if len(args) > 0 {
		sub = strings.ToLower(args[0])
	}
	switch {
	case sub == "count" && len(args) == 1:
		return keyspace.Int(commandCount)
	case sub == "" || sub == "info":
		return aboutEach(args, keyspace.Reply{Kind: keyspace.ReplyNilArray}, commandInfo)
	case sub == "docs":
		all := aboutEach(args, keyspace.Reply{}, commandDocs)
		all.Kind = keyspace.ReplyMap
		all.Items = slices.DeleteFunc(all.Items, func(r keyspace.Reply) bool { return r.Kind == keyspace.ReplyNil })
		return unpaired(all)
	case sub == "list" && len(args) == 1:
		return keyspace.Bulks(describedNames())
	case sub == "list" && len(args) == 4 && strings.EqualFold(args[1], "filterby") && strings.EqualFold(args[2], "pattern"):
		return keyspace.Bulks(slices.DeleteFunc(describedNames(), func(name string) bool { return !keyspace.Matches(args[3], name) }))
	case sub == "list" && (len(args) != 4 || !strings.EqualFold(args[1], "filterby")):
		return keyspace.Error("ERR syntax error")
	case sub == "getkeys" && len(args) > 2:
		return m.commandKeys(args[1:])
	case slices.Contains([]string{"count", "getkeys"}, sub):
		return wrongNumber("command|" + sub)
	}
	return m.notModelled("command " + args[0])
}

// hasSubcommands holds the commands whose first argument is the name of a subcommand.
var hasSubcommands = map[string]bool{"client": true, "cluster": true, "command": true, "object": true, "pubsub": true, "script": true}

// listed is what the tables say of a command.
type listed struct {
	keyspace.Command
	subject string
}

// listedCommand returns what the tables say of a command; nil: nothing.
func listedCommand(name string) *listed {
	for _, t := range keyspace.Tables {
		if c := t.Commands[name]; c != nil {
			return &listed{*c, t.Subject}
		}
	}
	if c := serverCommands[name]; c != nil {
		return &listed{c.Command, "server"}
	}
	if c := sessionCommands[name]; c != nil {
		return &listed{keyspace.Command{Min: c.min, Max: c.max, NoScript: name != "select"}, "connection"}
	}
	return nil
}

// describedNames returns the names of all commands that COMMAND describes.
func describedNames() []string {
	return slices.Concat(keyspace.Names(), slices.Sorted(maps.Keys(serverCommands)), slices.Sorted(maps.Keys(sessionCommands)))
}

// aboutEach describes the commands that COMMAND INFO or COMMAND DOCS names, or all; none stands for an unknown one.
func aboutEach(args []string, none keyspace.Reply, about func(name string, c *listed) keyspace.Reply) keyspace.Reply {
	names := args[min(1, len(args)):]
	if len(names) == 0 {
		names = describedNames()
	}
	all := keyspace.Array()
	for _, name := range names {
		name = strings.ToLower(name)
		if c := listedCommand(name); c != nil {
			all.Items = append(all.Items, about(name, c))
		} else {
			all.Items = append(all.Items, none)
		}
	}
	return all
}

// commandInfo is an element of the reply to COMMAND INFO.
func commandInfo(name string, c *listed) keyspace.Reply {
	arity := int64(c.Min + 1)
	if c.Max != c.Min {
		arity = -arity
	}
	p := keyspace.KeyPositions(name)
	reads := !c.Writes && keyspace.Find(name) != nil || strings.HasSuffix(name, "_ro")
	flags := keyspace.Array()
	for _, f := range []struct {
		name string
		has  bool
	}{{"write", c.Writes}, {"readonly", reads}, {"denyoom", c.Grows}, {"noscript", c.NoScript}, {"blocking", c.Waits != nil}, {"movablekeys", p.Count > 0 || p.Word != ""}} {
		if f.has && !hasSubcommands[name] { // which have flags of their own
			flags.Items = append(flags.Items, keyspace.Reply{Kind: keyspace.ReplyStatus, Text: f.name})
		}
	}
	return keyspace.Array(keyspace.Bulk(name), keyspace.Int(arity), flags, keyspace.Int(int64(p.First)), keyspace.Int(int64(p.Last)), keyspace.Int(int64(p.Step)),
		keyspace.Array(), keyspace.Array(), keyspace.Array(), keyspace.Array())
}

// commandDocs is a name and a value of the reply to COMMAND DOCS.
func commandDocs(name string, c *listed) keyspace.Reply {
	group := map[string]string{"strings": "string", "keys": "generic", "hashes": "hash", "lists": "list", "sets": "set", "sorted sets": "sorted-set", "streams": "stream"}[c.subject]
	if group == "" {
		group = c.subject
	}
	return keyspace.Array(keyspace.Bulk(name), keyspace.Reply{Kind: keyspace.ReplyMap, Items: []keyspace.Reply{keyspace.Bulk("group"), keyspace.Bulk(group)}})
}

// unpaired makes the items of pairs those of a map.
func unpaired(r keyspace.Reply) keyspace.Reply {
	var flat []keyspace.Reply
	for _, pair := range r.Items {
		flat = append(flat, pair.Items...)
	}
	r.Items = flat
	return r
}

// commandKeys implements COMMAND GETKEYS.
func (m *Master) commandKeys(words []string) keyspace.Reply {
	name := strings.ToLower(words[0])
	c, p := listedCommand(name), keyspace.KeyPositions(name)
	switch {
	case c == nil:
		return keyspace.Error("ERR Invalid command specified")
	case hasSubcommands[name]:
		return m.notModelled("command getkeys " + name)
	case p == keyspace.Positions{}:
		return keyspace.Error("ERR The command has no key arguments")
	case !c.Accepts(len(words) - 1):
		return keyspace.Error("ERR Invalid number of arguments specified for command")
	}
	keys, ok := p.Of(words)
	if !ok && c.subject != "server" { // scripts need no keys
		return keyspace.Error("ERR Invalid arguments specified for command")
	}
	return keyspace.Bulks(keys)
}
