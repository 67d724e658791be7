package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestNothingComparesProperties: what only some properties have is a field of checker.Property, and no comparison with
// one of them or with its name or level, so that a new property is a file of its own.
func TestNothingComparesProperties(t *testing.T) {
	var properties []string
	eachFile(t, func(path string) bool {
		return strings.Contains(path, "/checker/") && !strings.HasSuffix(path, "_test.go")
	}, func(_ *token.FileSet, file *ast.File) {
		properties = append(properties, propertiesOf(file)...)
	})
	if len(properties) < 25 {
		t.Fatalf("found only the properties %v", properties)
	}
	eachFile(t, func(path string) bool { return !strings.HasSuffix(path, "_test.go") }, func(set *token.FileSet, file *ast.File) {
		for _, at := range comparedWith(file, properties) {
			t.Errorf("%s: it compares with a property: make what it wants to know a field of checker.Property", set.Position(at))
		}
	})
}

// propertiesOf returns the variables of a file that are values of Property.
func propertiesOf(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if len(v.Values) != 1 {
				continue
			}
			if lit, ok := v.Values[0].(*ast.CompositeLit); ok && selected(lit.Type) == "Property" {
				names = append(names, v.Names[0].Name)
			}
		}
	}
	return names
}

// comparedWith returns where a file compares with one of some properties, or with a name or level of theirs.
func comparedWith(file *ast.File, properties []string) (found []token.Pos) {
	of := func(e ast.Expr) {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(selected(e), "checker."), ".Name"), ".Level")
		if slices.Contains(properties, name) {
			found = append(found, e.Pos())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				of(n.X)
				of(n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				of(e)
			}
		case *ast.CompositeLit: // a map with a key for each of some
			if _, ok := n.Type.(*ast.MapType); ok {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						of(kv.Key)
					}
				}
			}
		}
		return true
	})
	return found
}

func TestComparisonsWithPropertiesAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`if p == checker.Quorum { }`:                                          1,
		`if name != checker.Quorum.Name || level == checker.Quorum.Level { }`: 2,
		`switch name { case checker.Quorum.Name, other: }`:                    1,
		`x := map[string]string{checker.Quorum.Name: "yes"}`:                  1,
		`if p.Leads && r.ResultOf(checker.Quorum) != nil { }`:                 0,
		`x := []checker.Property{checker.Quorum}`:                             0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := comparedWith(file, []string{"Quorum"}); len(got) != want {
			t.Errorf("%s: %d, want %d", body, len(got), want)
		}
	}
}
