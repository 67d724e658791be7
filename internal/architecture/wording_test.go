package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// sentences are the fields that hold what people read.
var sentences = []string{"Why", "Text", "What", "Summary", "Finding", "Help", "Note"}

// othersWords are folders whose fields hold what Redis says.
var othersWords = []string{"cluster", "watch"}

// TestNothingIsDecidedByWording: no code takes sentences of results apart, or compares them with something: a
// change of wording would change what the code decides. What it needs to know stands in a field of its own.
func TestNothingIsDecidedByWording(t *testing.T) {
	files := eachFile(t, func(path string) bool {
		others := slices.ContainsFunc(strings.Split(path, "/"), func(folder string) bool { return slices.Contains(othersWords, folder) })
		expected := strings.HasSuffix(path, "/claims/finding.go") // a claim's because is the user's word for what a reason shall say
		return !strings.HasSuffix(path, "_test.go") && !others && !expected
	}, func(set *token.FileSet, file *ast.File) {
		for _, at := range decidedByWording(file) {
			t.Errorf("%s: a sentence is taken apart or compared", set.Position(at))
		}
	})
	if files < 300 {
		t.Errorf("only %d files were found", files)
	}
}

func TestDecisionsByWordingAreFound(t *testing.T) {
	for expression, want := range map[string]int{
		`strings.HasPrefix(v.Why, "needs ")`:         1,
		`strings.CutPrefix(e.Text, names(e)+" was")`: 1,
		`strings.Contains(x, v.Summary)`:             1,
		`v.Why == "interrupted"`:                     1,
		`e.What != other.What`:                       0,
		`e.What == name`:                             1,
		`regexp.MustCompile("x").MatchString(v.Why)`: 1,
		`v.Why != ""`:                                0,
		`strings.ToUpper(v.Why)`:                     0,
		`cmp.Or(v.Why, "unknown")`:                   0,
		`x.Why()`:                                    0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar _ = "+expression, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(decidedByWording(file)); got != want {
			t.Errorf("%s: %d, want %d", expression, got, want)
		}
	}
}

// takesApart are the functions and methods that look for something in a text.
var takesApart = []string{
	"strings.HasPrefix", "strings.HasSuffix", "strings.Contains", "strings.CutPrefix", "strings.CutSuffix", "strings.Cut", "strings.TrimPrefix",
	"strings.TrimSuffix", "strings.Index", "strings.LastIndex", "strings.Split", "strings.SplitN", "strings.EqualFold", "fmt.Sscanf",
	"MatchString", "FindStringSubmatch",
}

// decidedByWording returns where a file compares sentences with anything but "" and sentences of the same kind, or
// looks for something in them.
func decidedByWording(file *ast.File) []token.Pos {
	var found []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := selected(n.Fun)
			if i := strings.LastIndexByte(name, '.'); !strings.HasPrefix(name, "strings.") && !strings.HasPrefix(name, "fmt.") {
				name = name[i+1:]
			}
			if slices.Contains(takesApart, name) && slices.ContainsFunc(n.Args, isSentence) {
				found = append(found, n.Pos())
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && fieldOf(n.X) != fieldOf(n.Y) && (isSentence(n.X) && !isEmpty(n.Y) || isSentence(n.Y) && !isEmpty(n.X)) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

func isSentence(e ast.Expr) bool { return slices.Contains(sentences, fieldOf(e)) }

// fieldOf returns the name of the field that an expression selects, or "".
func fieldOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

func isEmpty(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == `""`
}
