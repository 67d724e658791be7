package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seam lists the folders whose code runs unchanged in real and in virtual time, and
// the files in them that live in real time alone.
var seam = map[string][]string{
	"redlock":  {},
	"workload": {},
	"nemesis":  {},
	"history":  {"ahead.go"}, // reads a file after the run
}

// beyondTheSeam names, per import, what takes time, waits, spawns or draws at random
// behind the back of the Runtime.
var beyondTheSeam = map[string]func(name string) bool{
	"time":         oneOf("Now", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"),
	"context":      oneOf("WithCancel", "WithCancelCause", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"),
	"sync":         oneOf("WaitGroup", "Cond", "NewCond"),
	"math/rand/v2": butFor("New", "NewPCG", "NewChaCha8", "Rand", "Source", "PCG", "ChaCha8"),
	"math/rand":    butFor(),
	"crypto/rand":  butFor(),
	"os/signal":    butFor(),
	"runtime":      oneOf("Gosched"),
}

func oneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func butFor(names ...string) func(string) bool {
	return func(name string) bool { return !slices.Contains(names, name) }
}

func TestSeam(t *testing.T) {
	for folder, exempt := range seam {
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files found (%v)", folder, err)
		}
		for _, e := range exempt {
			if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == e }) {
				t.Errorf("%s/%s is exempt, but does not exist", folder, e)
			}
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") || slices.Contains(exempt, filepath.Base(f)) {
				continue
			}
			for _, says := range breaches(t, f, nil) {
				t.Errorf("%s: %s: it must come from the Runtime", folder, says)
			}
		}
	}
}

// TestSeamIsWatched shows that each breach is found.
func TestSeamIsWatched(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`go f()`, "a go statement"},
		{`select {}`, "a select statement"},
		{`<-ctx.Done()`, "a channel receive"},
		{`for range ctx.Done() {}`, "a loop over a context's channel"},
		{`var c chan int; _ = c`, "a channel"},
		{`t := time.Now(); _ = t`, "time.Now"},
		{`time.Sleep(1)`, "time.Sleep"},
		{`sleep := time.Sleep; sleep(1)`, "time.Sleep"},
		{`_ = time.Since(time.Time{})`, "time.Since"},
		{`_ = time.AfterFunc(1, f)`, "time.AfterFunc"},
		{`_ = r.IntN(3)`, "math/rand/v2.IntN"},
		{`r.Shuffle(1, nil)`, "math/rand/v2.Shuffle"},
		{`_, cancel := context.WithTimeout(ctx, 1); cancel()`, "context.WithTimeout"},
		{`var w sync.WaitGroup; w.Wait()`, "sync.WaitGroup"},
		{`var m sync.Mutex; m.Lock()`, ""},
		{`_ = r.New(r.NewPCG(1, 2)).IntN(3)`, ""},
		{`_ = context.WithoutCancel(ctx)`, ""},
		{`_ = time.Duration(3) * time.Second`, ""},
		{`var s struct{ time struct{ Now int } }; _ = s.time.Now`, ""},
	} {
		source := `package p
import ("context"; "sync"; "time"; r "math/rand/v2")
var _ sync.Locker; var _ time.Duration; var _ r.Source
func f() { var ctx context.Context; _ = ctx; ` + c.body + ` }`
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		var got []string
		for _, b := range breaches(t, "p.go", source) {
			_, what, _ := strings.Cut(b, ": ")
			got = append(got, what)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", c.body, got, want)
		}
	}
	if got := breaches(t, "p.go", `package p; import . "time"; var x = Now()`); len(got) != 1 {
		t.Errorf("an import without a name: found %q", got)
	}
}

// breaches lists what a file does past the seam, each with its line.
func breaches(t *testing.T, path string, source any) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	report := func(at token.Pos, what string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", filepath.Base(path), set.Position(at).Line, what))
	}
	imports := map[string]string{} // path by the name that the file uses
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.TrimSuffix(path, "/v2"), "/")
		name := parts[len(parts)-1]
		if i.Name != nil {
			name = i.Name.Name
		}
		if name == "." && beyondTheSeam[path] != nil {
			report(i.Pos(), "an import of "+path+" without a name")
		}
		imports[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "a go statement")
		case *ast.SelectStmt:
			report(n.Pos(), "a select statement")
		case *ast.SendStmt:
			report(n.Pos(), "a channel send")
		case *ast.ChanType:
			report(n.Pos(), "a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n.Pos(), "a channel receive")
			}
		case *ast.RangeStmt:
			if call, ok := n.X.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Done" {
					report(n.Pos(), "a loop over a context's channel")
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				path := imports[x.Name]
				if forbidden := beyondTheSeam[path]; forbidden != nil && forbidden(n.Sel.Name) {
					report(n.Pos(), path+"."+n.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}
