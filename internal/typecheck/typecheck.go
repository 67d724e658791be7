// Package typecheck lets a test check that packages compile for another system, or elsewhere in the tree, without compiling
// them: what does not compile is nearly always an error of types, and finding those takes a fifteenth of the time.
package typecheck

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Packages fails a test with each error of syntax or types in the packages that match patterns, as the go command in dir with more
// environment variables finds them, and in all that they import.
func Packages(t *testing.T, dir string, env []string, patterns ...string) {
	t.Helper()
	all, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: dir, Env: append(os.Environ(), env...),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
	}, patterns...)
	if err != nil {
		t.Error(err)
		return
	}
	if len(all) == 0 {
		t.Errorf("no package matches %q", patterns)
	}
	packages.Visit(all, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, e)
		}
	})
}
