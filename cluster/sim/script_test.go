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
