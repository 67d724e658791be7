package scenario

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// structFields lists the fields of a struct by their names in YAML, and those of structs in it after a dot.
func structFields(t reflect.Type, prefix string) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		names = append(names, prefix+name)
		if t.Field(i).Type.Kind() == reflect.Struct {
			names = append(names, structFields(t.Field(i).Type, prefix+name+".")...)
		}
	}
	return names
}

// TestEveryFieldIsDeclared: the fields of the struct and those of Fields are the same, in one order, and
// each has a sentence and either a flag or a reason for having none.
func TestEveryFieldIsDeclared(t *testing.T) {
	var declared []string
	flags := map[string]string{}
	for _, f := range Fields {
		declared = append(declared, f.Name)
		if f.Help == "" || strings.Contains(f.Help, "`") { // the library for flags would take a quoted word for the type
			t.Errorf("%s: a field needs a sentence of help without backquotes, not %q", f.Name, f.Help)
		}
		if other := flags[f.FlagName()]; f.FlagName() != "" && other != "" {
			t.Errorf("--%s is the flag of %s and of %s", f.FlagName(), other, f.Name)
		}
		flags[f.FlagName()] = f.Name
		if f.NoFlag != "" && (f.Flag != "" || f.RunOnly) {
			t.Errorf("%s says why it has no flag, and has one", f.Name)
		}
		if f.replaces != "" && FieldNamed(f.replaces) == nil {
			t.Errorf("%s replaces %s, which is not a field", f.Name, f.replaces)
		}
	}
	if fields := structFields(reflect.TypeFor[Scenario](), ""); !slices.Equal(fields, declared) {
		t.Errorf("Scenario has the fields\n%v\nand Fields declares\n%v", fields, declared)
	}
}

// TestDeclaredLimitsAreChecked: a value that its declaration does not allow is refused, and the problem
// names the field.
func TestDeclaredLimitsAreChecked(t *testing.T) {
	refused := 0
	for _, f := range Fields {
		var wrong []any
		switch from := f.within.from.(type) {
		case int:
			wrong = append(wrong, from-1, f.within.to.(int)+1)
		case time.Duration:
			wrong = append(wrong, from-1, f.within.to.(time.Duration)+1)
		}
		if f.Probability {
			wrong = append(wrong, -0.1, 1.1)
		}
		if f.Values != nil {
			wrong = append(wrong, "no such value")
		}
		for _, value := range wrong {
			s := Defaults()
			v := f.in(&s)
			if v.Kind() == reflect.Slice {
				v.Set(reflect.ValueOf([]string{value.(string)}))
			} else {
				v.Set(reflect.ValueOf(value).Convert(v.Type()))
			}
			var p *Problem
			if !errors.As(s.Check(), &p) || !strings.HasPrefix(p.Field, f.Name) {
				t.Errorf("%s: %v is refused with %v", f.Name, value, p)
			}
			refused++
		}
	}
	if refused < 40 {
		t.Errorf("only %d values were tried", refused)
	}
}
