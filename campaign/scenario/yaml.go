package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"lockpick/internal/strictyaml"
)

// Load reads a scenario from a file, on top of the defaults. Errors name the file, the line and the column.
func Load(path string) (Scenario, error) { return strictyaml.Load(path, "scenario", Parse) }

// Sets reports whether the file of a scenario sets a field.
func Sets(path, field string) (bool, error) {
	file, err := parser.ParseFile(path, 0)
	if err != nil {
		return false, fmt.Errorf("scenario: %w", err)
	}
	return strictyaml.Find(file, field) != nil, nil
}

// Parse parses a scenario, on top of the defaults. A schedule replaces the default faults. Errors begin with
// the line and the column.
func Parse(b []byte) (s Scenario, err error) {
	s = Defaults()
	defaults := s.Faults
	s.Faults = nil
	file, err := strictyaml.Decode(b, &s, scenarioFields())
	if errors.Is(err, strictyaml.ErrEmpty) {
		return s, errors.New("1:1: the scenario is empty: give at least a name")
	}
	if err != nil {
		return s, err
	}
	if len(s.Faults) == 0 || len(s.Faults) == 1 && s.Faults[0] == none {
		s.Faults = nil
	}
	if s.Schedule == nil && !file.Has("faults") {
		s.Faults = defaults
	}
	s.AdoptServers(file.Has)
	var problem *Problem
	if errors.As(s.Check(), &problem) {
		return s, file.At(problem.Field, problem)
	}
	return s, nil
}

// ParseStep parses a step of a schedule in YAML or JSON, on top of the given values.
func ParseStep(b []byte, s Step) (_ Step, err error) {
	known := "the fields of a fault are " + strings.Join(strictyaml.Fields(s), ", ")
	if _, err := strictyaml.Decode(b, &s, known); err != nil {
		return s, err
	}
	if s.Fault == "" {
		return s, fmt.Errorf("1:1: the name of the fault is missing: %s", known)
	}
	return s, nil
}

// YAML renders the scenario as a file that Parse can read.
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

// Overlay overwrites the fields of the scenario that a YAML node sets; nil sets none. A list replaces the
// scenario's list instead of extending it, and a field also clears the field that it replaces (see Take). The
// file must be the node's, because it knows the anchors.
func (s *Scenario) Overlay(over ast.Node, file *strictyaml.File) error {
	if over == nil {
		return nil
	}
	var empty Scenario
	for _, f := range Fields {
		if (f.in(s).Kind() == reflect.Slice || f.replaces != "") && hasField(over, f.Name) {
			f.Take(s, &empty)
		}
	}
	return file.DecodeFromNode(over, s)
}

// hasField reports whether a mapping has a field.
func hasField(n ast.Node, field string) bool {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	}
	for _, v := range values {
		if v.Key.GetToken().Value == field {
			return true
		}
	}
	return false
}

// scenarioFields lists the known fields, for the error on an unknown one.
var scenarioFields = sync.OnceValue(func() string {
	return fmt.Sprintf("the fields are %s, and of a step %s", strings.Join(strictyaml.Fields(Scenario{}), ", "), strings.Join(strictyaml.Fields(Step{}), ", "))
})
