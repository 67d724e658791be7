package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/lua"
	"lockpick/cluster/sim/world"
)

// command is a command that a simulated master understands: one of the keyspace, or one of the
// server itself.
type command struct {
	keyspace.Command
	own func(m *Master, args []string) keyspace.Reply // nil: a command of the keyspace
}

// do executes the command.
func (c *command) do(m *Master, args []string) keyspace.Reply {
	if c.own != nil {
		return c.own(m, args)
	}
	r := c.Do(m.keys(), args)
	if r.Kind == keyspace.ReplyUnmodelled {
		return m.notModelled(r.Text)
	}
	return r
}

// commands holds all commands except those about a connection, by their names in lower case.
// init fills the map, because scripts call commands.
var commands = map[string]*command{}

// serverCommands are the commands that need more than keys.
var serverCommands map[string]*command

func init() {
	serverCommands = map[string]*command{
		"ping":       {arity(0, 1), ping},
		"echo":       {arity(1, 1), func(_ *Master, a []string) keyspace.Reply { return keyspace.Bulk(a[0]) }},
		"time":       {arity(0, 0), showTime},
		"info":       {arity(0, -1), info},
		"role":       {noScript(0, 0), role},
		"wait":       {noScript(2, 2), wait},
		"command":    {arity(0, -1), describe},
		"cluster":    {arity(1, -1), noCluster},
		"readonly":   {arity(0, 0), noCluster},
		"readwrite":  {arity(0, 0), noCluster},
		"asking":     {arity(0, 0), noCluster},
		"publish":    {arity(2, 2), publish},
		"pubsub":     {arity(1, -1), pubsub},
		"eval":       {noScript(2, -1), func(m *Master, a []string) keyspace.Reply { return m.eval(a, false) }},
		"eval_ro":    {noScript(2, -1), func(m *Master, a []string) keyspace.Reply { return m.eval(a, true) }},
		"evalsha":    {noScript(2, -1), func(m *Master, a []string) keyspace.Reply { return m.evalSHA(a, false) }},
		"evalsha_ro": {noScript(2, -1), func(m *Master, a []string) keyspace.Reply { return m.evalSHA(a, true) }},
		"script":     {noScript(1, -1), script},
	}
	for name, c := range serverCommands {
		commands[name] = c
	}
	for _, t := range keyspace.Tables {
		for name, c := range t.Commands {
			commands[name] = &command{Command: *c}
		}
	}
}

func arity(least, most int) keyspace.Command { return keyspace.Command{Min: least, Max: most} }

func noScript(least, most int) keyspace.Command {
	return keyspace.Command{Min: least, Max: most, NoScript: true}
}

const (
	notInteger  = "ERR value is not an integer or out of range"
	unknownSHA  = "NOSCRIPT No matching script. Please use EVAL."
	misconfAOF  = "MISCONF Errors writing to the AOF file: No space left on device"
	outOfMemory = "OOM command not allowed when used memory > 'maxmemory'."
)

// CommandGroup lists commands about one subject.
type CommandGroup struct {
	Subject string
	Names   []string // in lower case, sorted
}

// KnownCommands returns all commands.
func KnownCommands() (all []CommandGroup) {
	for _, t := range keyspace.Tables {
		all = append(all, CommandGroup{t.Subject, slices.Sorted(maps.Keys(t.Commands))})
	}
	return append(all, CommandGroup{"server", slices.Sorted(maps.Keys(serverCommands))}, CommandGroup{"connections", slices.Sorted(maps.Keys(sessionCommands))})
}

// lookUp returns the command with a name, and the name in lower case; nil: there is none.
func lookUp(name string) (*command, string) {
	c := commands[name]
	if c == nil {
		name = strings.ToLower(name)
		c = commands[name]
	}
	return c, name
}

// execute executes one command.
func (m *Master) execute(name string, args []string) keyspace.Reply {
	c, lower := lookUp(name)
	if c == nil {
		return m.unknown(name, args)
	}
	return m.carryOut(c, lower, args)
}

func (m *Master) carryOut(c *command, name string, args []string) keyspace.Reply {
	if !c.Accepts(len(args)) {
		return wrongNumber(name)
	}
	if denied := m.denies(name, args); denied != "" {
		return keyspace.Error(denied)
	}
	if c.Writes {
		if refused := m.refuses(c); refused != "" {
			return keyspace.Error(refused)
		}
	}
	return c.do(m, args)
}

func wrongNumber(name string) keyspace.Reply {
	return keyspace.Error("ERR wrong number of arguments for '" + strings.ToLower(name) + "' command")
}

// denies returns the error of a command that clients may not send; empty: they may.
func (m *Master) denies(name string, args []string) string {
	if m.cluster.config.Admin || cluster.Refused(name, args...) == "" {
		return ""
	}
	name = strings.ToLower(name)
	switch name {
	case "config", "acl", "module", "client", "script", "function": // they have subcommands
		if len(args) > 0 {
			name += "|" + strings.ToLower(args[0])
		}
	}
	return fmt.Sprintf("NOPERM this user has no permissions to run the '%s' command", name)
}

// unknown replies to a command that does not exist here. It may exist in Redis, so the run proves
// nothing about a lock that depends on it, unless clients may not send it anyway.
func (m *Master) unknown(name string, args []string) keyspace.Reply {
	if denied := m.denies(name, args); denied != "" {
		return keyspace.Error(denied)
	}
	m.notModelled(name)
	var b strings.Builder
	for _, a := range args {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%.*s' ", 128-b.Len(), a)
	}
	return keyspace.Error(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", name, b.String()))
}

// unknownSubcommand replies to a subcommand that does not exist here.
func (m *Master) unknownSubcommand(name string, args []string) keyspace.Reply {
	m.notModelled(name + " " + args[0])
	return keyspace.Error("ERR unknown subcommand '" + args[0] + "'. Try " + strings.ToUpper(name) + " HELP.")
}

// notModelled reports that a client depends on something that the master does not model, and
// returns a reply to it.
func (m *Master) notModelled(what string) keyspace.Reply {
	if f := m.cluster.unmodelled; f != nil {
		f(m.name, strings.ToUpper(what))
	}
	return keyspace.Error("ERR not modelled: " + strings.ToUpper(what))
}

func ping(_ *Master, args []string) keyspace.Reply {
	if len(args) == 1 {
		return keyspace.Bulk(args[0])
	}
	return keyspace.Reply{Kind: keyspace.ReplyStatus, Text: "PONG"}
}

func showTime(m *Master, _ []string) keyspace.Reply {
	t := world.Epoch.UnixMicro() + m.clock()/1000
	return keyspace.Bulks([]string{strconv.FormatInt(t/1e6, 10), strconv.FormatInt(t%1e6, 10)})
}

// info returns the fields of INFO that clients need.
func info(m *Master, _ []string) keyspace.Reply {
	return text(fmt.Sprintf("# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nrun_id:%s\r\n# Replication\r\nrole:master\r\nconnected_slaves:%d\r\n# Clients\r\nblocked_clients:%d\r\n",
		serverVersion, m.runID, len(m.replicas), len(m.waiting.all)))
}

// text returns text for people as a reply.
func text(s string) keyspace.Reply { return keyspace.Reply{Kind: keyspace.ReplyText, Text: s} }

func role(*Master, []string) keyspace.Reply {
	return keyspace.Array(keyspace.Bulk("master"), keyspace.Int(0), keyspace.Array())
}

// noCluster replies to commands of servers in a cluster.
func noCluster(*Master, []string) keyspace.Reply {
	return keyspace.Error("ERR This instance has cluster support disabled")
}

// runRequest executes a request of a lock.
func (m *Master) runRequest(r *request, byText bool) keyspace.Reply {
	switch {
	case r.ttl > 0:
		if refused := m.refuses(r.plain); refused != "" {
			return keyspace.Error(refused)
		}
		return m.keys().Take(r.args[0], r.args[1], r.ttl)
	case r.plain != nil:
		reply := m.carryOut(r.plain, r.name, r.args)
		if _, waits := r.plain.wouldWait(&reply, r.args); waits {
			return m.notModelled(r.name + " that waits, from a client without a connection of its own")
		}
		return reply
	case r.script == nil:
		return m.execute(r.name, r.args)
	case r.refused != nil:
		return keyspace.Error(r.refused.Error())
	case byText:
		m.scripts[r.script.SHA] = r.compiled
	case m.latest == r.script: // the master knows this script: skip the lookup
	case m.scripts[r.script.SHA] == nil:
		return keyspace.Error(unknownSHA)
	default:
		m.latest = r.script
	}
	return m.perform(r.compiled, r.keys, r.args, false)
}

var _ lua.Server = (*Master)(nil)
