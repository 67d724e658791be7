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
	files := eachFile(t, func(path string) bool { return strings.HasSuffix(path, "_test.go") }, func(set *token.FileSet, file *ast.File) {
		for _, assert := range durationAsserts(file) {
			t.Errorf("%s: the test fails because of how long something took", set.Position(assert))
		}
	})
	if files < 100 {
		t.Errorf("only %d files of tests were found", files)
	}
}

// eachFile parses the Go files of the project for which is returns true, and returns how many there are.
func eachFile(t *testing.T, is func(path string) bool, do func(*token.FileSet, *ast.File)) (files int) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || !is(filepath.ToSlash(path)) {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		do(set, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
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
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f(x, y time.Duration) { "+body+" }", 0)
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
	var found []token.Pos
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		names := namesOf(f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				return !slices.Contains(virtualTime, selected(n.Fun))
			case *ast.IfStmt:
				if names.bound(n.Cond) && fails(n.Body) {
					found = append(found, n.Pos())
				}
			}
			return true
		})
	}
	return found
}

// names are the variables of a function; true: one is a duration between two readings of a clock.
type names map[string]bool

func namesOf(f *ast.FuncDecl) names {
	all := names{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				all[id.Name] = false
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if id, ok := lhs.(*ast.Ident); ok {
					all[id.Name] = all[id.Name] || i < len(n.Rhs) && all.measured(n.Rhs[i])
				}
			}
		}
		return true
	})
	return all
}

// measured reports whether an expression has a duration between two readings of a clock in it.
func (all names) measured(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && (s.Sel.Name == "Since" || s.Sel.Name == "Sub")
		case *ast.Ident:
			found = found || all[n.Name]
		}
		return !found
	})
	return found
}

// variable reports whether an expression has a variable of the function in it.
func (all names) variable(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			_, known := all[id.Name]
			found = found || known
		}
		return !found
	})
	return found
}

// bound reports whether a condition compares what was measured with something fixed. What is compared with a variable
// is compared with what was read from another clock.
func (all names) bound(condition ast.Expr) bool {
	found := false
	ast.Inspect(condition, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if ok && slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, b.Op) {
			found = found || all.measured(b.X) && !all.variable(b.Y) || all.measured(b.Y) && !all.variable(b.X)
		}
		return true
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
