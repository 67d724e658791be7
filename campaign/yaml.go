package campaign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// LoadScenario reads a scenario from a file, on top of the defaults. Errors name
// the file, the line and the column.
func LoadScenario(path string) (Scenario, error) {
	b, err := readYAML(path)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	s, err := ParseScenario(b)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s:%w", path, err)
	}
	return s, nil
}

// NamesSeed says whether the scenario in a file has a seed of its own.
func NamesSeed(path string) (bool, error) {
	file, err := parser.ParseFile(path, 0)
	if err != nil {
		return false, fmt.Errorf("scenario: %w", err)
	}
	return find(file, "seed") != nil, nil
}

// ParseScenario reads a scenario, on top of the defaults. A schedule replaces the
// default faults. Errors begin with the line and the column.
func ParseScenario(b []byte) (s Scenario, err error) {
	defer refusePanic(&err)
	if !bytes.HasSuffix(b, []byte("\n")) {
		b = append(bytes.Clone(b), '\n') // the parser drops a tag at the very end
	}
	s = Defaults()
	defaults := s.Faults
	s.Faults = nil
	file, err := parseYAML(b, scenarioFields())
	if err != nil {
		return s, err
	}
	err = yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&s)
	if errors.Is(err, io.EOF) {
		return s, errors.New("1:1: the scenario is empty: give at least a name")
	}
	if err != nil {
		return s, position(err, b, scenarioFields())
	}
	if len(s.Faults) == 0 || len(s.Faults) == 1 && s.Faults[0] == "none" {
		s.Faults = nil
	}
	if s.Schedule == nil && find(file, "faults") == nil {
		s.Faults = defaults
	}
	var problem *Problem
	if errors.As(s.Check(), &problem) {
		at := find(file, problem.Field)
		if at == nil {
			return s, fmt.Errorf("1:1: %w", problem)
		}
		return s, fmt.Errorf("%d:%d: %w", at.Position.Line, at.Position.Column, problem)
	}
	return s, nil
}

// YAML is the scenario as a file: ParseScenario reads it back.
func (s *Scenario) YAML() ([]byte, error) {
	out := *s
	if out.Faults == nil {
		out.Faults = []string{}
	}
	b, err := yaml.MarshalWithOptions(out, yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return b, nil
}

// scenarioFields says which fields there are, for who wrote another.
func scenarioFields() string {
	return fmt.Sprintf("the fields are %s, and of a step %s", strings.Join(fields(Scenario{}), ", "), strings.Join(fields(Step{}), ", "))
}

// position puts line and column before what the decoder has to say. known says which
// fields there are.
func position(err error, b []byte, known string) error {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil {
		at := y.GetToken().Position
		var unknown *yaml.UnknownFieldError
		if errors.As(err, &unknown) {
			return fmt.Errorf("%d:%d: %s: %s", at.Line, at.Column, unknown.Message, known)
		}
		return fmt.Errorf("%d:%d: %s", at.Line, at.Column, plain(err, y))
	}
	// A duration that cannot be read: the decoder does not say where.
	if at := badDuration(b); at != nil {
		return fmt.Errorf("%d:%d: %s", at.Position.Line, at.Position.Column, notDuration(at.Value))
	}
	return fmt.Errorf("1:1: %w", err)
}

// plain says what the decoder means without its Go types.
func plain(err error, y yaml.Error) string {
	var typ *yaml.TypeError
	var node *yaml.UnexpectedNodeTypeError
	got := y.GetToken().Value
	switch {
	case errors.As(err, &typ) && typ.DstType == reflect.TypeFor[time.Duration]():
		return notDuration(got)
	case errors.As(err, &typ):
		want := map[reflect.Kind]string{reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Uint64: "a whole number", reflect.Float64: "a number"}
		return fmt.Sprintf("%q does not fit: this field takes %s", got, cmp.Or(want[typ.DstType.Kind()], "text"))
	case errors.As(err, &node):
		return fmt.Sprintf("%q does not fit: this field takes %s", got, map[string]string{
			"sequence": "a list, such as [kill, partition], or [] for none", "mapping": "fields with values",
		}[node.Expected.YAMLName()])
	}
	return y.GetMessage()
}

func notDuration(got string) string {
	return fmt.Sprintf("%q is not a duration: write a number with a unit, such as 500ms, 2s or 1m30s", got)
}

// find is the token of a field's value, or of the nearest field above it.
func find(file *ast.File, field string) *token.Token {
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

// first is the token that a reader sees first: of a mapping its first key.
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

// badDuration finds the first value of a field for durations that is none.
func badDuration(b []byte) *token.Token {
	file, err := parser.ParseBytes(b, 0)
	if err != nil || len(file.Docs) == 0 {
		return nil
	}
	v := &durations{}
	ast.Walk(v, file.Docs[0].Body)
	return v.bad
}

type durations struct{ bad *token.Token }

func (v *durations) Visit(n ast.Node) ast.Visitor {
	pair, ok := n.(*ast.MappingValueNode)
	if ok && v.bad == nil && strings.Contains(" ttl timeout interval restart_delay time_limit fsync_delay stall at plus for delay late_by apart ", " "+pair.Key.String()+" ") {
		if s, ok := pair.Value.(*ast.StringNode); ok {
			if _, err := time.ParseDuration(s.Value); err != nil {
				v.bad = s.GetToken()
			}
		}
	}
	return v
}
