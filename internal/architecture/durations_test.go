package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// virtualTime are the functions whose function arguments run in a bubble, or in a simulated world, where only
// the test makes time pass.
var virtualTime = []string{"synctest.Test", "bubble.Run", "virtual.Run", "w.Run", "in", "on", "bubble"}

// TestNoTestAssertsADuration: outside a bubble, no test fails because something took longer or shorter than it
// should. A machine may stand still at any moment.
func TestNoTestAssertsADuration(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, assert := range durationAsserts(file) {
			t.Errorf("%s: the test fails because of how long something took", set.Position(assert))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files of tests were found", files)
	}
}

func TestDurationAssertsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`if time.Since(a) > time.Second { t.Fatal() }`:                                    1,
		`if took := time.Since(a); took < time.Second || x { t.Errorf("") }`:              1,
		`took := time.Since(a); if x && took >= time.Second { for { t.Fatalf("") } }`:     1,
		`if time.Since(a) > time.Second { return }`:                                       0,
		`if now := clock.Now(); now.Sub(a) > time.Second { t.Error() }`:                   1,
		`synctest.Test(t, func() { if time.Since(a) > time.Second { t.Error() } })`:       0,
		`if took := measured(); took > time.Second { t.Errorf("") }`:                      0,
		`for time.Since(a) < time.Second { if x { t.Error() } }; if x { t.Error() }`:      0,
		`if aged := x - y; aged < time.Since(a)*3/2 { t.Error() }`:                        0,
		`f := func() { if took := b.Sub(a); took > time.Second { t.Error() } }; f(); g()`: 1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(durationAsserts(file)); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

// durationAsserts returns the conditions on a duration between two readings of a clock that fail a test.
func durationAsserts(file *ast.File) []token.Pos {
	measured := map[*ast.Object]bool{}
	isMeasured := func(e ast.Expr) bool {
		found := false
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				found = found || ok && (s.Sel.Name == "Since" || s.Sel.Name == "Sub")
			case *ast.Ident:
				found = found || n.Obj != nil && measured[n.Obj]
			}
			return !found
		})
		return found
	}
	var found []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !slices.Contains(virtualTime, selected(n.Fun))
		case *ast.AssignStmt:
			for i, rhs := range n.Rhs {
				if id, ok := n.Lhs[i].(*ast.Ident); ok && id.Obj != nil && isMeasured(rhs) {
					measured[id.Obj] = true
				}
			}
		case *ast.IfStmt:
			if n.Init != nil {
				if a, ok := n.Init.(*ast.AssignStmt); ok && len(a.Lhs) == 1 && isMeasured(a.Rhs[0]) {
					measured[a.Lhs[0].(*ast.Ident).Obj] = true
				}
			}
			if bounds(n.Cond, isMeasured) && fails(n.Body) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// bounds reports whether a condition compares what was measured with something fixed. What is compared with a variable
// is compared with what was read from another clock.
func bounds(condition ast.Expr, measured func(ast.Expr) bool) bool {
	found := false
	ast.Inspect(condition, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if ok && slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, b.Op) {
			found = found || measured(b.X) && !variable(b.Y) || measured(b.Y) && !variable(b.X)
		}
		return true
	})
	return found
}

// variable reports whether an expression has a variable of the file in it.
func variable(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Obj != nil && id.Obj.Kind == ast.Var
		return !found
	})
	return found
}

// fails reports whether a statement fails the test.
func fails(body ast.Node) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name := selected(call.Fun)
			found = found || strings.HasPrefix(name, "t.Error") || strings.HasPrefix(name, "t.Fatal") || strings.HasPrefix(name, "b.Fatal")
		}
		return !found
	})
	return found
}

// selected returns a function's name with what it is selected from.
func selected(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if of := selected(f.X); of != "" {
			return of + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}
