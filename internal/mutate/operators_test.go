package mutate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
)

// place is a part of a file, by its offsets, that an operator replaces by other text.
type place struct {
	from, to int
	text     string
	mentions map[string]bool // the identifiers in the code that the operator is about
}

// source is a parsed file.
type source struct {
	file string
	text []byte
	set  *token.FileSet
	ast  *ast.File
}

func parse(file string) (*source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &source{file: file, text: text, set: token.NewFileSet()}
	s.ast, err = parser.ParseFile(s.set, file, text, parser.SkipObjectResolution)
	return s, err
}

func (s *source) at(p token.Pos) int { return s.set.Position(p).Offset }

func (s *source) code(n ast.Node) string { return string(s.text[s.at(n.Pos()):s.at(n.End())]) }

// replaced is the place of a node with other text there.
func (s *source) replaced(n ast.Node, format string, args ...any) place {
	return place{s.at(n.Pos()), s.at(n.End()), fmt.Sprintf(format, args...), mentioned(n)}
}

// mentioned are the identifiers in a node.
func mentioned(n ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	return names
}

// comparison returns n as a comparison of two things by their order, or nil.
func comparison(n ast.Node) *ast.BinaryExpr {
	if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LSS || b.Op == token.LEQ || b.Op == token.GTR || b.Op == token.GEQ) {
		return b
	}
	return nil
}

// sum returns n as a sum or difference, or nil.
func sum(n ast.Node) *ast.BinaryExpr {
	if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.ADD || b.Op == token.SUB) {
		return b
	}
	return nil
}

// operators say where they apply to a node, and what they write there. What they leave out
// is still compiled, so that no variable becomes unused.
var operators = map[string]func(s *source, n ast.Node) []place{
	"make condition true": func(s *source, n ast.Node) []place {
		return conditions(n, func(c ast.Expr) place { return s.replaced(c, "(true || (%s))", s.code(c)) })
	},
	"make condition false": func(s *source, n ast.Node) []place {
		return conditions(n, func(c ast.Expr) place { return s.replaced(c, "(false && (%s))", s.code(c)) })
	},
	"drop operand": func(s *source, n ast.Node) []place { // of && or ||
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.LAND && b.Op != token.LOR {
			return nil
		}
		format := map[token.Token]string{token.LAND: "(true || (%s))", token.LOR: "(false && (%s))"}[b.Op]
		var places []place
		for _, operand := range []ast.Expr{b.X, b.Y} {
			if inner, ok := operand.(*ast.BinaryExpr); !ok || inner.Op != b.Op { // a && b && c has three operands
				places = append(places, s.replaced(operand, format, s.code(operand)))
			}
		}
		return places
	},
	"drop negation": func(s *source, n ast.Node) []place {
		if u, ok := n.(*ast.UnaryExpr); ok && (u.Op == token.NOT || u.Op == token.SUB) {
			return []place{s.replaced(u, "%s", s.code(u.X))}
		}
		return nil
	},
	"drop last term": func(s *source, n ast.Node) []place { // of a sum or difference of numbers
		if b := sum(n); b != nil {
			return []place{s.replaced(b, "(%s + 0*(%s))", s.code(b.X), s.code(b.Y))}
		}
		return nil
	},
	"drop first term": func(s *source, n ast.Node) []place {
		if b := sum(n); b != nil {
			return []place{s.replaced(b, "(0*(%s) + %s)", s.code(b.X), s.code(b.Y))}
		}
		return nil
	},
	"drop argument": func(s *source, n ast.Node) []place { // of min, max or cmp.Or
		call, ok := n.(*ast.CallExpr)
		if !ok || !slices.Contains([]string{"min", "max", "cmp.Or"}, s.code(call.Fun)) {
			return nil
		}
		var places []place
		for i := range call.Args {
			var rest []string
			for j, arg := range call.Args {
				if i != j {
					rest = append(rest, s.code(arg))
				}
			}
			p := s.replaced(call, "%s(%s)", s.code(call.Fun), strings.Join(rest, ", "))
			p.mentions = mentioned(call.Args[i])
			places = append(places, p)
		}
		return places
	},
	"drop statement": func(s *source, n ast.Node) []place { // an assignment or a call
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				return nil
			}
		case *ast.IncDecStmt, *ast.ExprStmt:
		default:
			return nil
		}
		return []place{s.replaced(n, "if false { %s }", s.code(n))}
	},
	"drop target": func(s *source, n ast.Node) []place { // of an assignment to several variables
		a, ok := n.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN || len(a.Lhs) < 2 {
			return nil
		}
		var places []place
		for _, target := range a.Lhs {
			places = append(places, s.replaced(target, "_"))
		}
		return places
	},
	"drop field": func(s *source, n ast.Node) []place { // of a composite literal
		c, ok := n.(*ast.CompositeLit)
		if !ok {
			return nil
		}
		var places []place
		for i, e := range c.Elts {
			if _, ok := e.(*ast.KeyValueExpr); ok {
				p := s.replaced(e, "")
				if i+1 < len(c.Elts) {
					p.to = s.at(c.Elts[i+1].Pos()) // with the comma
				}
				places = append(places, p)
			}
		}
		return places
	},
	"add one": func(s *source, n ast.Node) []place { // to the left side of a comparison
		if b := comparison(n); b != nil {
			p := s.replaced(b.X, "%s + 1", s.code(b.X))
			p.mentions = mentioned(b)
			return []place{p}
		}
		return nil
	},
	"double right side": func(s *source, n ast.Node) []place { // of a comparison
		if b := comparison(n); b != nil {
			p := s.replaced(b.Y, "2*(%s)", s.code(b.Y))
			p.mentions = mentioned(b)
			return []place{p}
		}
		return nil
	},
	"never lower": func(s *source, n ast.Node) []place { // a variable that is assigned to
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN && len(a.Lhs) == 1 {
			p := s.replaced(a.Rhs[0], "max(%s, %s)", s.code(a.Lhs[0]), s.code(a.Rhs[0]))
			p.mentions = mentioned(a)
			return []place{p}
		}
		return nil
	},
	"count unknown as yes": func(s *source, n ast.Node) []place { // a vote's
		if e, ok := n.(*ast.SelectorExpr); ok && e.Sel.Name == "Yes" {
			return []place{s.replaced(e, "(%s || %s.Unknown)", s.code(e), s.code(e.X))}
		}
		return nil
	},
	"decrement number": numbers(func(x float64) float64 { return x - 1 }),
	"double number":    numbers(func(x float64) float64 { return 2 * x }),
	"halve number":     numbers(func(x float64) float64 { return x / 2 }),
}

// operator returns the operator of a name: one of operators, "replace a by b" for two binary operators or for
// min and max, or "replace condition by" or "replace field by" and what stands there then.
func operator(name string) func(s *source, n ast.Node) []place {
	if expr, ok := strings.CutPrefix(name, "replace condition by "); ok {
		return func(s *source, n ast.Node) []place {
			return conditions(n, func(c ast.Expr) place { return s.replaced(c, "(%s || false && (%s))", expr, s.code(c)) })
		}
	}
	if field, ok := strings.CutPrefix(name, "replace field by "); ok {
		return func(s *source, n ast.Node) []place {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				return []place{s.replaced(pair, "%s", field)}
			}
			return nil
		}
	}
	words := strings.Fields(name)
	if len(words) != 4 || words[0] != "replace" || words[2] != "by" {
		return operators[name]
	}
	from, to := words[1], words[3]
	return func(s *source, n ast.Node) []place {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op.String() == from {
				return []place{{s.at(n.OpPos), s.at(n.OpPos) + len(from), to, mentioned(n)}}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == from && (from == "min" || from == "max") {
				p := s.replaced(f, "%s", to)
				p.mentions = mentioned(n)
				return []place{p}
			}
		}
		return nil
	}
}

// conditions are those of if, for and a switch without a value.
func conditions(n ast.Node, change func(ast.Expr) place) []place {
	var places []place
	switch n := n.(type) {
	case *ast.IfStmt:
		places = append(places, change(n.Cond))
	case *ast.ForStmt:
		if n.Cond != nil {
			places = append(places, change(n.Cond))
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					places = append(places, change(e))
				}
			}
		}
	}
	return places
}

// numbers changes a number that is a constant or an operand.
func numbers(change func(float64) float64) func(s *source, n ast.Node) []place {
	return func(s *source, n ast.Node) []place {
		var operands []ast.Expr
		switch n := n.(type) {
		case *ast.BinaryExpr:
			operands = []ast.Expr{n.X, n.Y}
		case *ast.ValueSpec:
			operands = n.Values
		}
		var places []place
		for _, o := range operands {
			lit, ok := o.(*ast.BasicLit)
			if !ok {
				continue
			}
			if x, err := strconv.ParseFloat(lit.Value, 64); err == nil && change(x) != x {
				p := s.replaced(lit, "%v", change(x))
				p.mentions = mentioned(n)
				places = append(places, p)
			}
		}
		return places
	}
}

// places lists where an operator applies in a declaration, in the order of the text.
func (s *source) places(d ast.Node, op func(*source, ast.Node) []place) []place {
	var all []place
	ast.Inspect(d, func(n ast.Node) bool {
		if n != nil {
			all = append(all, op(s, n)...)
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b place) int { return a.from - b.from })
	return all
}

// declaration returns what declares a function, method ("(*run).leases"), constant or variable, or nil.
func (s *source) declaration(name string) ast.Node {
	for _, d := range s.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			full := d.Name.Name
			if d.Recv != nil {
				receiver := s.code(d.Recv.List[0].Type)
				if strings.HasPrefix(receiver, "*") {
					receiver = "(" + receiver + ")"
				}
				full = receiver + "." + full
			}
			if full == name {
				return d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name }) {
					return v
				}
			}
		}
	}
	return nil
}
