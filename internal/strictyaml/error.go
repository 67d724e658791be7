package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Fields lists the YAML names of a struct's fields.
func Fields(of any) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Explain puts the line and the column before an error of the decoder; nil remains nil.
func (f *File) Explain(err error) error {
	if err == nil {
		return nil
	}
	return explain(err, f.text, f.known, f.of...)
}

// explain puts the line and the column before the error of the decoder. known lists the valid fields; of
// holds the structs that were decoded.
func explain(err error, b []byte, known string, of ...any) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		at := y.GetToken().Position
		var unknown *yaml.UnknownFieldError
		if errors.As(err, &unknown) {
			return fmt.Errorf("%d:%d: %s: %s", at.Line, at.Column, unknown.Message, known)
		}
		return fmt.Errorf("%d:%d: %s", at.Line, at.Column, plain(err, y))
	}
	// The decoder gives no position for an invalid duration.
	if at := badDuration(b, of); at != nil {
		return fmt.Errorf("%d:%d: %s", at.Position.Line, at.Position.Column, notDuration(at.Value))
	}
	return fmt.Errorf("1:1: %w", err)
}

// plain renders the decoder's error without Go types.
func plain(err error, y yaml.Error) string {
	var typ *yaml.TypeError
	var node *yaml.UnexpectedNodeTypeError
	got := y.GetToken().Value
	switch {
	case errors.As(err, &typ) && typ.DstType == reflect.TypeFor[time.Duration]():
		return notDuration(got)
	case errors.As(err, &typ):
		want := map[reflect.Kind]string{reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Uint64: "a whole number", reflect.Float64: "a number"}
		return fmt.Sprintf("%q does not fit: %s takes %s", got, fieldOf(y.GetToken()), cmp.Or(want[typ.DstType.Kind()], "text"))
	case errors.As(err, &node):
		return fmt.Sprintf("%q does not fit: %s takes %s", got, fieldOf(y.GetToken()), map[string]string{
			"sequence": "a list, such as [kill, partition], or [] for none", "mapping": "fields with values, such as {fault: kill}",
		}[node.Expected.YAMLName()])
	}
	return y.GetMessage()
}

// fieldOf names the field of a value, as far as its neighbours show it.
func fieldOf(value *token.Token) string {
	switch before := value.Prev; {
	case before == nil:
		return "the whole text"
	case before.Type == token.MappingValueType && before.Prev != nil:
		return "the field " + before.Prev.Value
	}
	return "this field"
}

func notDuration(got string) string {
	return fmt.Sprintf("%q is not a duration: write a number with a unit, such as 500ms, 2s or 1m30s", got)
}

// Find returns the token of a field's value, or of the nearest field above it, or nil.
func Find(file *ast.File, field string) *token.Token {
	for field != "" {
		if path, err := yaml.PathString("$." + field); err == nil {
			if node, err := path.FilterFile(file); err == nil && node != nil {
				return first(node)
			}
		}
		i := strings.LastIndexAny(field, ".[")
		field = field[:max(i, 0)]
	}
	return nil
}

// first returns the token that a reader sees first: in a mapping, its first key.
func first(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return first(n.Values[0])
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return n.GetToken()
}

// badDuration returns the first invalid value of a field for durations, or nil.
func badDuration(b []byte, of []any) *token.Token {
	file, err := parser.ParseBytes(b, 0)
	if err != nil || len(file.Docs) == 0 {
		return nil
	}
	v := &durations{names: map[string]bool{}}
	for _, x := range of {
		v.collect(reflect.TypeOf(x))
	}
	ast.Walk(v, file.Docs[0].Body)
	return v.bad
}

type durations struct {
	names map[string]bool // names of the fields that are durations
	bad   *token.Token
}

// collect adds the duration fields of a struct and of the structs in it.
func (v *durations) collect(t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "" || name == "-":
		case f.Type == reflect.TypeFor[time.Duration]():
			v.names[name] = true
		default:
			v.collect(f.Type)
		}
	}
}

func (v *durations) Visit(n ast.Node) ast.Visitor {
	pair, ok := n.(*ast.MappingValueNode)
	if ok && v.bad == nil && v.names[pair.Key.GetToken().Value] {
		if s, ok := pair.Value.(*ast.StringNode); ok {
			if _, err := time.ParseDuration(s.Value); err != nil {
				v.bad = s.GetToken()
			}
		}
	}
	return v
}
