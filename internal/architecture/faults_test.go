package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockpick/history/fault"
)

// TestFactsOfFaultsAreInTheRegistry: outside of the registry nobody compares the name of a
// fault, and so a new kind of fault needs no change anywhere else.
func TestFactsOfFaultsAreInTheRegistry(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || rel == filepath.Join("history", "fault")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, says := range comparedFaults(t, path, nil) {
			t.Errorf("%s: ask package fault what the kind does", filepath.Join(filepath.Dir(rel), says))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestComparedFaultsAreFound shows that each comparison is found.
func TestComparedFaultsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`_ = f.Name == "pause"`:                                1,
		`_ = "client-clock" != name`:                           1,
		`switch name { case "kill", "powercut": }`:             2,
		`_ = slices.Contains([]string{"slow", "reset"}, name)`: 2,
		`_ = strings.HasPrefix(name, "memory")`:                1,
		`_ = map[string]int{"pause": 1}[name]`:                 1,
		`faults := []string{"kill"}; _ = faults`:               0,
		`_ = name == "up"`:                                     0,
	} {
		if got := comparedFaults(t, "p.go", "package p; func f() { "+body+" }"); len(got) != want {
			t.Errorf("%s: found %q, want %d", body, got, want)
		}
	}
}

// comparedFaults lists the literals in a file that are names of faults and that something is
// compared with.
func comparedFaults(t *testing.T, path string, source any) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	look := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if name, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(fault.Names(), name) {
				found = append(found, fmt.Sprintf("%s:%d: %s", filepath.Base(path), set.Position(lit.Pos()).Line, lit.Value))
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				look(n.X)
				look(n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				look(e)
			}
		case *ast.IndexExpr:
			if lit, ok := n.X.(*ast.CompositeLit); ok {
				for _, e := range lit.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						look(pair.Key)
					}
				}
			}
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Contains", "ContainsFunc", "Index", "HasPrefix", "HasSuffix", "EqualFold"}, called.Sel.Name) {
				return true
			}
			for _, arg := range n.Args {
				look(arg)
				if lit, ok := arg.(*ast.CompositeLit); ok {
					for _, e := range lit.Elts {
						look(e)
					}
				}
			}
		}
		return true
	})
	return found
}
