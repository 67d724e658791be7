package sim

import (
	"strconv"
	"strings"

	"lockpick/cluster/keyspace"
	"lockpick/cluster/lua"
)

// scriptRun is what a script that is being executed may do.
type scriptRun struct {
	readOnly bool
	allowOOM bool
	keys     []string
	wrote    bool // it has called a command that writes: nothing stops it any more
}

// perform executes a script. Its effects are one step: replicas and files get all of them or none.
func (m *Master) perform(s *lua.Script, keys, args []string, readOnly bool) keyspace.Reply {
	if f := s.Flags; f.Stated && !f.NoWrites && !f.AllowOOM && m.oom {
		return keyspace.Error("OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'")
	}
	m.script = scriptRun{readOnly: readOnly || s.Flags.NoWrites, allowOOM: s.Flags.AllowOOM, keys: keys}
	return s.Run(m, keys, args)
}

// Call executes a command that a script calls. A script is refused at its first command that
// writes, or not at all.
func (m *Master) Call(name string, args []string) keyspace.Reply {
	c, lower := lookUp(name)
	switch own := sessionCommands[lower]; {
	case c == nil && own == nil && m.denies(name, args) == "":
		return m.unknown(name, args)
	case c == nil || c.NoScript:
		return keyspace.Error("ERR This Redis command is not allowed from script")
	case !c.Accepts(len(args)):
		return wrongNumber(lower)
	case m.denies(name, args) != "":
		return keyspace.Error("ERR The user executing the script can't run this command or subcommand")
	case c.Writes && m.script.readOnly:
		return keyspace.Error("ERR Write commands are not allowed from read-only scripts.")
	case c.Writes && !m.script.wrote:
		switch {
		case m.disk.broken:
			return keyspace.Error(misconfAOF)
		case c.Grows && m.oom && !m.script.allowOOM:
			return keyspace.Error(outOfMemory)
		}
		m.script.wrote = true
	}
	m.account.calls(name, args)
	if c.own == nil && !c.Writes {
		m.scriptReads()
	}
	r := c.do(m, args)
	if _, waits := c.wouldWait(&r, args); waits && lower == "xread" {
		return keyspace.Error("ERR " + name + " command is not allowed with BLOCK option from scripts")
	}
	return r
}

// eval implements EVAL and EVAL_RO: the master then knows the script.
func (m *Master) eval(args []string, readOnly bool) keyspace.Reply {
	keys, rest, problem := scriptArguments(args)
	if problem != "" {
		return keyspace.Error(problem)
	}
	s, err := lua.Compile(args[0])
	if err != nil {
		return keyspace.Error(err.Error())
	}
	m.scripts[s.SHA] = s
	return m.perform(s, keys, rest, readOnly)
}

func (m *Master) evalSHA(args []string, readOnly bool) keyspace.Reply {
	keys, rest, problem := scriptArguments(args)
	if problem != "" {
		return keyspace.Error(problem)
	}
	s := m.scripts[strings.ToLower(args[0])]
	if s == nil {
		return keyspace.Error(unknownSHA)
	}
	return m.perform(s, keys, rest, readOnly)
}

// scriptArguments splits the arguments after the script: the number of keys, the keys, and
// the other arguments.
func scriptArguments(args []string) (keys, rest []string, problem string) {
	n, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		return nil, nil, notInteger
	case n > len(args)-2:
		return nil, nil, "ERR Number of keys can't be greater than number of args"
	case n < 0:
		return nil, nil, "ERR Number of keys can't be negative"
	}
	return args[2 : 2+n], args[2+n:], ""
}

func script(m *Master, args []string) keyspace.Reply {
	switch word := strings.ToLower(args[0]); {
	case word == "load" && len(args) == 2:
		s, err := lua.Compile(args[1])
		if err != nil {
			return keyspace.Error(err.Error())
		}
		m.scripts[s.SHA] = s
		return keyspace.Bulk(s.SHA)
	case word == "exists" && len(args) > 1:
		r := keyspace.Array()
		for _, sum := range args[1:] {
			r.Items = append(r.Items, keyspace.Bool(m.scripts[strings.ToLower(sum)] != nil))
		}
		return r
	case word == "flush":
		clear(m.scripts)
		m.latest = nil
		return keyspace.OK
	}
	return m.unknownSubcommand("script", args)
}
