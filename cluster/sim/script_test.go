package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestEveryScriptOfRedlockHasATwin reads the scripts out of redlock's source: a script
// that is added or changed there needs a twin here.
func TestEveryScriptOfRedlockHasATwin(t *testing.T) {
	dir, err := parser.ParseFile(token.NewFileSet(), "../../redlock/scripts.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(dir, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := call.Fun.(*ast.Ident)
		if !ok || name.Name != "script" {
			return true
		}
		literal, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if twin(sha(text)) == nil {
			t.Errorf("no Go twin in twins.go of this script of redlock:\n%s", text)
		}
		return true
	})
	if found < 4 {
		t.Errorf("found only %d scripts in redlock/scripts.go: has their form changed?", found)
	}
}

func TestAScriptWithoutATwinIsAClearError(t *testing.T) {
	w := NewWorld(1)
	m := New(w, oneMaster, Options{}).masters[0]
	r := m.db().execute("eval", []string{"return 42", "0"})
	want := `ERR simulated masters do not speak Lua, and have no Go twin of this script; register one with sim.RegisterScript: "return 42"`
	if r.kind != replyError || r.text != want {
		t.Errorf("got %v", r)
	}
}

// TestGiveBackIsTheScript: the short way for the script that releases a lock answers and
// does what its twin does, and leaves to the twin what ends with an error.
func TestGiveBackIsTheScript(t *testing.T) {
	for name, prepare := range map[string]func(db DB){
		"nothing":          func(DB) {},
		"the token":        func(db DB) { db.execute("set", []string{"k", "t"}) },
		"another token":    func(db DB) { db.execute("set", []string{"k", "u"}) },
		"a hash":           func(db DB) { db.execute("hset", []string{"k", "f", "t"}) },
		"what has expired": func(db DB) { db.s.put("k", value{text: "t", expires: db.now - 1}) },
		"a disk that fails": func(db DB) {
			db.execute("set", []string{"k", "t"})
			db.m.disk.broken = true
		},
	} {
		answers := func(short bool) (reply, int) {
			db := New(NewWorld(1), oneMaster, Options{}).masters[0].db()
			prepare(db)
			if short {
				if n, done := db.giveBack("k", "t"); done {
					return intReply(n), len(db.s.pairs)
				}
			}
			return db.perform(twin(sha(releaseText)), sha(releaseText), []string{"k"}, []string{"t"}), len(db.s.pairs)
		}
		short, left := answers(true)
		long, want := answers(false)
		if short.String() != long.String() || left != want {
			t.Errorf("%s: %v with %d keys left, and the script %v with %d", name, short, left, long, want)
		}
	}
}
