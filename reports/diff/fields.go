package diff

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// changedFields compares two scenarios field by field, and lists of steps step by step. Names are
// those of the YAML file.
func changedFields(a, b reflect.Value) []Change {
	changes := []Change{}
	for i := range a.NumField() {
		changes = append(changes, changedField(fieldName(a.Type().Field(i), "yaml"), a.Field(i), b.Field(i))...)
	}
	return changes
}

func changedField(name string, a, b reflect.Value) (changes []Change) {
	switch {
	case a.Kind() == reflect.Struct && a.Type() != reflect.TypeFor[time.Time]():
		for i := range a.NumField() {
			if inner := fieldName(a.Type().Field(i), "yaml"); inner != "" {
				changes = append(changes, changedField(name+"."+inner, a.Field(i), b.Field(i))...)
			}
		}
		return changes
	case a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Struct:
		for i := range max(a.Len(), b.Len()) {
			at := fmt.Sprintf("%s %d", name, i+1)
			switch {
			case i >= a.Len():
				changes = append(changes, Change{at, "none", fieldsText(b.Index(i))})
			case i >= b.Len():
				changes = append(changes, Change{at, fieldsText(a.Index(i)), "none"})
			default:
				changes = append(changes, changedField(at, a.Index(i), b.Index(i))...)
			}
		}
		return changes
	}
	if x, y := fieldText(a), fieldText(b); x != y {
		return []Change{{name, x, y}}
	}
	return nil
}

// fieldsText renders a struct on one line, without its zero fields.
func fieldsText(v reflect.Value) string {
	var parts []string
	for i := range v.NumField() {
		if name := fieldName(v.Type().Field(i), "yaml"); name != "" && !v.Field(i).IsZero() {
			parts = append(parts, name+" "+fieldText(v.Field(i)))
		}
	}
	return strings.Join(parts, ", ")
}

func fieldText(v reflect.Value) string {
	if words, ok := v.Interface().([]string); ok {
		if len(words) == 0 {
			return "none"
		}
		return strings.Join(words, ",")
	}
	if v.Kind() == reflect.String && v.Len() == 0 {
		return "default"
	}
	return fmt.Sprintf("%+v", v.Interface())
}
