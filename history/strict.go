package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// jsonField is one field of a JSON object.
type jsonField struct {
	name string
	text json.RawMessage
}

// maxFields is the maximum number of fields of an object with fixed field names.
const maxFields = 1_000

// objectFields parses a JSON object with at most the given number of fields. A name that occurs
// twice is an error, because JSON parsers differ in which value they take.
func objectFields(text []byte, most int) ([]jsonField, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	start, err := in.Token()
	if err != nil {
		return nil, cutShort(err)
	}
	if start != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var fields []jsonField
	names := map[string]bool{}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, cutShort(err)
		}
		f := jsonField{name: name.(string)}
		if err := in.Decode(&f.text); err != nil {
			return nil, cutShort(err)
		}
		if names[f.name] {
			return nil, fmt.Errorf("field %s stands twice", quoted(f.name))
		}
		if len(fields) == most {
			return nil, fmt.Errorf("there are more than %d fields", most)
		}
		names[f.name] = true
		fields = append(fields, f)
	}
	if _, err := in.Token(); err != nil {
		return nil, cutShort(err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return fields, nil
}

// cutShort replaces the error for a JSON text that ends too early by a clear one.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends before its JSON is complete")
	}
	return err
}

// strict parses an operation as encoding/json does, with two differences: names are
// case-sensitive, and a name must not occur twice.
func (d *decoder) strict(line []byte, op *Op) error {
	d.unknownFields = d.unknownFields[:0]
	fields, err := objectFields(line, maxFields)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.name == "value" && !bytes.Equal(f.text, []byte("null")) {
			inside, err := objectFields(f.text, maxFields)
			if err != nil {
				return fmt.Errorf("field %q: %w", f.name, err)
			}
			op.Value = d.newValue()
			for _, g := range inside {
				if err := d.assign("value."+g.name, g.text, fieldIn(op.Value, valueFields, g.name)); err != nil {
					return err
				}
			}
			continue
		}
		if f.name == "value" {
			continue
		}
		if err := d.assign(f.name, f.text, fieldIn(op, opFields, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// assign parses a field's text into a variable. If into is nil, the field is unknown.
func (d *decoder) assign(name string, text json.RawMessage, into any) error {
	if into == nil {
		d.unknownFields = append(d.unknownFields, name)
		return nil
	}
	switch into.(type) {
	case *map[string]string, *map[string]time.Duration:
		if bytes.HasPrefix(text, []byte("{")) {
			if _, err := objectFields(text, MaxKeys); err != nil {
				return fmt.Errorf("field %q: %w", name, err)
			}
		}
	}
	err := json.Unmarshal(text, into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("field %q is a %s, but must be %s", name, mismatch.Value, wanted(into))
	}
	return err
}

// wanted describes the kind of value that a field must have.
func wanted(into any) string {
	switch into.(type) {
	case *string, *Type:
		return "a string"
	case *bool:
		return "true or false"
	case *float64:
		return "a number"
	case *[]string:
		return "a list of strings"
	case *map[string]string:
		return "an object of strings"
	case *map[string]time.Duration:
		return "an object of whole numbers"
	case *time.Time:
		return "a time"
	}
	return "a whole number"
}
