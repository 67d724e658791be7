package history

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyText generates strings with characters that JSON must escape, characters that
// encoding/json escapes besides, and bytes that are not UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "c1", "k0", "a\"b\\c\n\t\r\b\f\x01\x7f", "<&>", "é\u2028\u2029", "\xff\xc3", "ttl/2 + 3ms"}),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	)
}

// fill sets the fields of a struct to random values, by their types, so that new fields are
// tested, too. It fails for a field of a type that it does not know.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		name := v.Type().Field(i).Name
		if rapid.IntRange(0, 2).Draw(t, name+" is set") == 0 {
			continue
		}
		switch f.Interface().(type) {
		case string, Type:
			f.SetString(anyText().Draw(t, name))
		case int, int64, time.Duration:
			f.SetInt(rapid.Int64().Draw(t, name))
		case bool:
			f.SetBool(rapid.Bool().Draw(t, name))
		case float64:
			f.SetFloat(rapid.Float64().Draw(t, name))
		case *time.Duration:
			d := time.Duration(rapid.Int64().Draw(t, name))
			f.Set(reflect.ValueOf(&d))
		case []string:
			f.Set(reflect.ValueOf(rapid.SliceOfN(anyText(), 0, 3).Draw(t, name)))
		case map[string]string:
			f.Set(reflect.ValueOf(rapid.MapOfN(anyText(), anyText(), 0, 3).Draw(t, name)))
		case map[string]time.Duration:
			m := rapid.MapOfN(anyText(), rapid.Int64(), 0, 3).Draw(t, name)
			durations := map[string]time.Duration{}
			for k, n := range m {
				durations[k] = time.Duration(n)
			}
			f.Set(reflect.ValueOf(durations))
		case *Value:
			f.Set(reflect.New(f.Type().Elem()))
			fill(t, f.Elem())
		default:
			t.Fatalf("field %s is of a type that this test does not know: %v", name, f.Type())
		}
	}
}

// TestEncodeAsTheStandardLibrary checks that appendOp encodes operations as encoding/json does.
func TestEncodeAsTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var op Op
		fill(t, reflect.ValueOf(&op).Elem())
		want, err := json.Marshal(op)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendOp(nil, &op)
		if err != nil || string(got) != string(want) {
			t.Fatalf("encoding/json writes\n%s\nand appendOp\n%s\n(%v)", want, got, err)
		}
	})
}
