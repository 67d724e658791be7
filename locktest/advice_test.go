package locktest

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"lockpick/checker"
	"lockpick/search"
)

// TestAdviceNamesWhatThisPackageHas: each advice has words, and a Go programmer finds each name in them in this package.
func TestAdviceNamesWhatThisPackageHas(t *testing.T) {
	exported := exportedNames(t)
	for name, w := range map[string]checker.Wording{"Explore": exploreWording, "Audit": auditWording(false), "Audit with few schedules": auditWording(true)} {
		for advice, flags := range checker.FlagWording {
			text := w[advice]
			if text == "" && name == "Explore" {
				t.Errorf("%s has no words for: %s", name, flags)
			}
			if strings.Contains(text, "--") {
				t.Errorf("%s: a go test has no flag of lockpick: %s", name, text)
			}
			for _, word := range regexp.MustCompile(`\b[A-Z]\w+`).FindAllString(text, -1) {
				if !exported[word] {
					t.Errorf("%s: locktest has no %s: %s", name, word, text)
				}
			}
		}
	}
}

// exportedNames returns the names that the package exports, and those of the fields of its structs.
func exportedNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = n.Name.IsExported()
				return false
			case *ast.TypeSpec:
				names[n.Name.Name] = n.Name.IsExported()
			case *ast.Field:
				for _, name := range n.Names {
					names[name.Name] = name.IsExported()
				}
			}
			return true
		})
	}
	return names
}

// TestAdviceOfATestThatProvesNothing: what a go test prints then names options of this package.
func TestAdviceOfATestThatProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		options []Option
		wants   string
	}{
		"one client":     {[]Option{Clients(1)}, ": " + exploreWording[checker.MoreInEachSchedule]},
		"no fence":       {[]Option{Properties("FM")}, ": " + exploreWording[checker.GiveFences]},
		"no lease has":   {[]Option{Properties("FM"), Fencing()}, ": " + exploreWording[checker.FenceEachLease]},
		"no extend":      {[]Option{Properties("EXT")}, ": " + exploreWording[checker.ExtendLeases]},
		"nobody crashes": {[]Option{Properties("holder-loss")}, ": " + exploreWording[checker.CrashClients]},
	} {
		t.Run(name, func(t *testing.T) {
			options := append([]Option{Masters(1), Faults(), Schedules(3)}, c.options...)
			r := &runner{t: t}
			found, err := search.Explore(t.Context(), r.exploration(prepare(t, "Explore", nil, simple, options)))
			if err != nil {
				t.Fatal(err)
			}
			if says := why(found); found.Verdict() != checker.Invalid || !strings.HasSuffix(says, c.wants) || strings.Contains(says, "--") {
				t.Errorf("%s: %s\nwant the end %q", found.Verdict(), says, c.wants)
			}
		})
	}
}

// once is the simple lock, but it grants the first two clients one lease each, and all later callers wait until they give up.
func once(env Env) (Lock, error) {
	inner, err := simple(env)
	granted := env.Client != "c1" && env.Client != "c2"
	return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
		if granted {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		lease, err := inner.Acquire(ctx, key)
		granted = err == nil
		return lease, err
	}), err
}

// TestAdviceOfAnAuditThatProvesTooLittle: what an audit logs names no flag of lockpick.
func TestAdviceOfAnAuditThatProvesTooLittle(t *testing.T) {
	card, properties := auditIn(t, t.TempDir(), once, []Option{Masters(1), Schedules(1), Properties("L2"), func(c *config) { c.only = []string{"long-ttl"} }})
	h := &heard{TB: t}
	reportCard(h, card, properties)
	if says := strings.Join(h.errors, "\n") + h.logged; strings.Contains(says, "--") || !strings.Contains(says, ": "+auditWording(true)[checker.MoreContention]) {
		t.Errorf("%s", says)
	}
}
