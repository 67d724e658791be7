package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writers are the packages whose files people and other programs read while, or after, a command is ended.
var writers = []string{"audit", "campaign/judge", "claims", "cli", "reports", "risk", "serve", "watch"}

// TestOneWriterOfFiles: these packages write files with internal/wholefile alone, so that every output is complete or
// absent, and no device, pipe or link is replaced.
func TestOneWriterOfFiles(t *testing.T) {
	for _, folder := range writers {
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files found (%v)", folder, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "os" && slices.Contains([]string{"Create", "WriteFile", "OpenFile"}, s.Sel.Name) {
						t.Errorf("%s: os.%s: write files with internal/wholefile", set.Position(s.Pos()), s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
