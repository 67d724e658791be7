package sim

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"lockpick/cluster"
)

// DB gives access to a master's keys during one command or script, at one time of the
// master's clock.
type DB struct {
	s   *store
	now int64 // ms since Epoch on the master's wall clock
	m   *Master
}

// Status is a reply such as OK, which is a table in Lua.
type Status string

// Script is the Go version of a Lua script. It returns the result of the script: nil or
// false, true, an int64, a string, a Status, an error, or an []any of these.
type Script func(db DB, keys, args []string) any

var (
	goScriptsMu sync.RWMutex
	goScripts   = map[string]Script{} // by SHA-1
)

// RegisterScript makes simulated masters run f for the Lua script with that text. Locks
// register their scripts when their package is initialized.
func RegisterScript(text string, f func(db DB, keys, args []string) any) {
	goScriptsMu.Lock()
	defer goScriptsMu.Unlock()
	goScripts[sha(text)] = f
}

func goScript(sha string) Script {
	goScriptsMu.RLock()
	defer goScriptsMu.RUnlock()
	return goScripts[sha]
}

func sha(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Call implements redis.call. It returns nil, an int64, a string, a Status or an []any. If
// the command fails, the script ends with its error.
func (db DB) Call(name string, args ...string) any {
	db.m.account.calls(name, args)
	r := db.execute(name, args)
	if r.kind == replyError {
		panic(scriptError(r.text))
	}
	return r.value()
}

// PCall implements redis.pcall: it returns the error of a command that fails.
func (db DB) PCall(name string, args ...string) any {
	db.m.account.calls(name, args)
	r := db.execute(name, args)
	return r.value()
}

// Get returns the string under a key, if there is one.
func (db DB) Get(key string) (text string, ok bool) {
	v, ok := db.s.get(key, db.now)
	if ok && v.hash != nil {
		panic(scriptError(wrongType))
	}
	return v.text, ok
}

// Del deletes a key and reports whether it existed.
func (db DB) Del(key string) bool {
	db.mayWrite("del")
	db.m.account.calls("del", []string{key})
	_, ok := db.s.get(key, db.now)
	if ok {
		db.s.drop(key, cluster.Deleted)
	}
	return ok
}

// PExpire sets the TTL of a key in ms and reports whether the key exists.
func (db DB) PExpire(key, ms string) bool { return db.Call("pexpire", key, ms) == int64(1) }

// scriptError is the panic value that ends a script.
type scriptError string

func (db DB) mayWrite(name string) {
	if refused := db.refuses(name); refused != "" {
		panic(scriptError(refused))
	}
}

func (r *reply) value() any {
	switch r.kind {
	case replyStatus:
		return Status(r.text)
	case replyInt:
		return r.n
	case replyBulk:
		return r.text
	case replyError:
		return fmt.Errorf("%s", r.text)
	case replyArray, replyMap:
		var items []any
		for i := range r.items {
			items = append(items, r.items[i].value())
		}
		return items
	}
	return nil
}

// replyOf converts the result of a script into a reply, as Redis converts Lua's values.
func replyOf(v any) reply {
	switch v := v.(type) {
	case nil:
		return nilReply
	case bool:
		if v {
			return intReply(1)
		}
		return nilReply
	case int64:
		return intReply(v)
	case int:
		return intReply(int64(v))
	case float64:
		return intReply(int64(v)) // Redis removes the fraction
	case string:
		return bulkReply(v)
	case Status:
		return reply{kind: replyStatus, text: string(v)}
	case error:
		return errorReply(v.Error())
	case []any:
		r := reply{kind: replyArray}
		for _, x := range v {
			if x == nil {
				break // a Lua table ends at the first nil
			}
			r.items = append(r.items, replyOf(x))
		}
		return r
	}
	return errorReply(fmt.Sprintf("ERR the Go version of a Lua script returned a %T, which no script can", v))
}

func eval(db DB, args []string) reply {
	sum := sha(args[0])
	keys, rest, problem := scriptArguments(args)
	if problem != "" {
		return errorReply(problem)
	}
	return db.evaluate(sum, args[0], keys, rest)
}

func evalsha(db DB, args []string) reply {
	keys, rest, problem := scriptArguments(args)
	if problem != "" {
		return errorReply(problem)
	}
	return db.evaluateSHA(strings.ToLower(args[0]), keys, rest)
}

// evaluate implements EVAL: it also stores the script.
func (db DB) evaluate(sum, text string, keys, args []string) reply {
	if err := db.m.cluster.learn(sum, text); err != nil {
		return errorReply(err.Error())
	}
	db.m.scripts[sum] = true
	return db.evaluateSHA(sum, keys, args)
}

// evaluateSHA implements EVALSHA.
func (db DB) evaluateSHA(sum string, keys, args []string) reply {
	if !db.m.scripts[sum] {
		return errorReply(noScript)
	}
	return db.perform(db.m.cluster.script(sum), sum, keys, args)
}

// script returns the function that masters run for the script with a hash; nil: they do not
// know the script.
func (c *Cluster) script(sum string) Script {
	if f := c.scripts[sum]; f != nil {
		return f
	}
	return goScript(sum)
}

// learn makes sure that a script can be run.
func (c *Cluster) learn(sum, text string) error {
	if c.script(sum) != nil {
		return nil
	}
	if c.options.Scripts == nil {
		return fmt.Errorf("ERR simulated masters do not speak Lua, and have no Go version of this script; register one with sim.RegisterScript: %.60q", text)
	}
	f, err := c.options.Scripts(text)
	if err == nil {
		c.scripts[sum] = f
	}
	return err
}

// perform runs the function of a script.
func (db DB) perform(f Script, sum string, keys, args []string) (r reply) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case scriptError:
			r = errorReply(string(e) + fmt.Sprintf(fromAScript, sum))
		default:
			panic(e)
		}
	}()
	return replyOf(f(db, keys, args))
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

func script(db DB, args []string) reply {
	switch word := strings.ToLower(args[0]); {
	case word == "load" && len(args) == 2:
		sum := sha(args[1])
		if err := db.m.cluster.learn(sum, args[1]); err != nil {
			return errorReply(err.Error())
		}
		db.m.scripts[sum] = true
		return bulkReply(sum)
	case word == "exists" && len(args) > 1:
		r := reply{kind: replyArray}
		for _, sum := range args[1:] {
			r.items = append(r.items, truth(db.m.scripts[strings.ToLower(sum)]))
		}
		return r
	case word == "flush":
		clear(db.m.scripts)
		db.m.latest = nil
		return okReply
	}
	return errorReply("ERR unknown subcommand or wrong number of arguments for '" + args[0] + "'. Try SCRIPT HELP.")
}

// run executes a request.
func (db DB) run(r *request, byText bool) reply {
	switch {
	case r.ttl > 0:
		return db.take(r.args[0], r.args[1], r.ttl)
	case r.plain != nil:
		return db.carryOut(r.plain, r.name, r.args)
	case r.script == nil:
		return db.execute(r.name, r.args)
	case db.m.latest == r.script: // the master knows this script: skip the lookup
		if r.gives {
			if n, done := db.fastRelease(r.keys[0], r.args[0]); done {
				return intReply(n)
			}
		}
		return db.perform(r.goScript, r.script.SHA, r.keys, r.args)
	case byText:
		return db.evaluate(r.script.SHA, r.script.Text, r.keys, r.args)
	}
	if db.m.scripts[r.script.SHA] {
		db.m.latest = r.script
	}
	return db.evaluateSHA(r.script.SHA, r.keys, r.args)
}
