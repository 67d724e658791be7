package architecture

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockpick/history/fault"
	"lockpick/reports/web"
)

// TestScriptsOfPagesAreTyped checks the script of each page, joined as the page loads it, with TypeScript's compiler.
func TestScriptsOfPagesAreTyped(t *testing.T) {
	pages := scriptsOfPages(t)
	if len(pages) < 5 {
		t.Errorf("only %d pages with scripts were found", len(pages))
	}
	for _, problem := range typeErrors(t, pages) {
		t.Error(problem)
	}
}

func TestTypeErrorsOfScriptsAreFound(t *testing.T) {
	planted := []struct{ script, want string }{
		{"byId('a').value = 'b';", "TS2339"},
		{"byId('a', HTMLInputElement).value = 1;", "TS2322"},
		{"byId('a', HTMLInputElement, 1);", "TS2554"},
		{"document.getElementById('a').hidden = true;", "TS2531"},
		{"queryAll('.a', HTMLAnchorElement).at(0).click();", "TS2532"},
		{"class A { b() {} }\nnew A().c();", "TS2339"},
		{"class A {}\nA.prototype.b = function () { this.c(); };", "TS2339"},
		{"for (const e of queryAll('.a')) e.hidden = byId('b').hidden;", ""},
	}
	scripts := map[string]string{}
	for i, p := range planted {
		name := fmt.Sprintf("planted%d", i)
		scripts[name] = web.Join([]string{name}, func(file string) string {
			if file == name+".js" {
				return marked(file, p.script+"\n")
			}
			return scriptFile(t, file, "")
		})
	}
	problems := typeErrors(t, scripts)
	for i, p := range planted {
		var found []string
		for _, problem := range problems {
			if strings.HasPrefix(problem, fmt.Sprintf("planted%d.js:", i)) {
				found = append(found, problem)
			}
		}
		if p.want == "" && len(found) > 0 || p.want != "" && (len(found) != 1 || !strings.Contains(found[0], p.want)) {
			t.Errorf("%s: found %q, want %q", p.script, found, p.want)
		}
	}
}

// TestScriptsCompareNoFaults: scripts get what they need to know of a fault with its data.
func TestScriptsCompareNoFaults(t *testing.T) {
	files := 0
	for _, script := range scriptsOfPages(t) {
		for _, at := range faultsComparedIn(script) {
			t.Errorf("%s: encode what the kind does (package fault knows it)", position(script, at))
		}
		files += strings.Count(script, scriptMark)
	}
	if files < 30 {
		t.Errorf("only %d scripts were found", files)
	}
	for line, want := range map[string]int{
		"if (f.name !== 'partition') return;":                   1,
		`if ("kill" === f.name || f.name == "powercut") a();`:   2,
		"switch (f.name) { case 'slow-fsync': return 1; }":      1,
		"if (['kill', 'memory'].includes(f.name)) a();":         2,
		"if (f.name.startsWith('client-clock')) a();":           1,
		"const sign = {pause: 1, 'client-kill': 2}[f.name];":    2,
		"const kinds = new Map([['kill', 1]]), k = 'pause';":    0,
		"if (f.colour !== 'cut' && kind === 'fault') a();":      0,
		"const of = {pause: this.pause}; of[item.kind].call();": 0,
	} {
		if got := len(faultsComparedIn(line)); got != want {
			t.Errorf("%s: found %d, want %d", line, got, want)
		}
	}
}

// comparedTexts are the places where a script compares something with texts.
var comparedTexts = regexp.MustCompile(`[=!]==?\s*['"]([\w-]+)['"]|['"]([\w-]+)['"]\s*[=!]==?|\bcase\s+['"]([\w-]+)['"]|` +
	`(\[[^\]\[]*\])\.(?:includes|indexOf)\(|\.(?:startsWith|endsWith|includes|indexOf)\(['"]([\w-]+)['"]\)|(\{[^{}]*\})\[`)

var words = regexp.MustCompile(`[\w-]+`)

// faultsComparedIn returns where a script compares something with the name of a fault.
func faultsComparedIn(script string) []int {
	var found []int
	for _, m := range comparedTexts.FindAllStringSubmatchIndex(script, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] < 0 {
				continue
			}
			for _, w := range words.FindAllString(script[m[i]:m[i+1]], -1) {
				if slices.Contains(fault.Names(), w) {
					found = append(found, m[0])
				}
			}
		}
	}
	return found
}

// scriptMark begins the line before each file in a joined script.
const scriptMark = "//@ "

func marked(name, text string) string { return scriptMark + name + "\n" + text }

// position returns the file and the line of an offset in a joined script.
func position(script string, at int) string {
	before := script[:at]
	mark := strings.LastIndex(before, scriptMark)
	name, text, _ := strings.Cut(before[mark+len(scriptMark):], "\n")
	return fmt.Sprintf("%s:%d", name, strings.Count(text, "\n")+1)
}

// scriptFile returns a script of a folder, or of package web if the folder does not have it.
func scriptFile(t *testing.T, name, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "page", name)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		path = filepath.Join(root, "reports", "web", "page", name)
		text, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	rel, _ := filepath.Rel(root, path)
	return marked(rel, string(text))
}

// scriptsOfPages returns the joined script of each page that has one, by the page's name.
func scriptsOfPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	eachFile(t, func(path string) bool { return !strings.HasSuffix(path, "_test.go") }, func(set *token.FileSet, file *ast.File) {
		folder := filepath.Dir(set.Position(file.Pos()).Filename)
		lists := map[string][]string{} // variables of the file
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if len(n.Values) == 1 {
					lists[n.Names[0].Name] = textsOf(n.Values[0])
				}
			case *ast.CompositeLit:
				if selected(n.Type) != "web.Page" {
					return true
				}
				var name string
				var scripts []string
				for _, e := range n.Elts {
					field := e.(*ast.KeyValueExpr)
					switch field.Key.(*ast.Ident).Name {
					case "Name":
						name = textsOf(field.Value)[0]
					case "Scripts":
						scripts = textsOf(field.Value)
						if list, ok := field.Value.(*ast.Ident); ok {
							scripts = lists[list.Name]
						}
						if len(scripts) == 0 {
							t.Errorf("%s: the scripts of the page are not a list that this test can read", set.Position(n.Pos()))
						}
					}
				}
				if len(scripts) > 0 {
					pages[name] = web.Join(scripts, func(name string) string { return scriptFile(t, name, folder) })
				}
			}
			return true
		})
	})
	return pages
}

// textsOf returns the literals of an expression.
func textsOf(e ast.Expr) (texts []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}

var tscProblem = regexp.MustCompile(`(?m)^(\w+)\.js\((\d+),(\d+)\): (.*)$`)

// typeErrors returns what tsc says of scripts, with the file and the line of each error.
func typeErrors(t *testing.T, scripts map[string]string) (problems []string) {
	t.Helper()
	if _, err := exec.LookPath("tsc"); err != nil {
		t.Skip("tsc, which checks the scripts of the pages, is missing: on Debian it is in node-typescript, which .ci/setup test installs")
	}
	dir := t.TempDir()
	args := []string{"--noEmit", "--allowJs", "--checkJs", "--strict", "--noImplicitAny", "false", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"}
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name+".js"), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, name+".js")
	}
	cmd := exec.Command("tsc", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	for _, m := range tscProblem.FindAllSubmatch(out, -1) {
		script, line := scripts[string(m[1])], 0
		line, _ = strconv.Atoi(string(m[2]))
		at := 0
		for range line - 1 {
			at += strings.IndexByte(script[at:], '\n') + 1
		}
		problems = append(problems, fmt.Sprintf("%s: %s", position(script, at), m[4]))
	}
	if err != nil && len(problems) == 0 {
		t.Fatalf("tsc: %v: %s", err, bytes.TrimSpace(out))
	}
	return problems
}
