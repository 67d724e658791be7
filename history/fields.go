package history

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// field is a field of Op or Value, as its JSON tag describes it. Encoder and decoders loop over fields, so a new one is a
// line of its struct and nothing else.
type field struct {
	name   string
	quoted string // the name with quotation marks and colon
	kind   fieldKind
	always bool // written even if it is zero
	empty  bool // of a map: written if it is empty but not nil
	index  int
	offset uintptr // in the struct
}

// fieldKind says how a field is encoded.
type fieldKind int

const (
	textField   fieldKind = iota // string
	typeField                    // Type
	numberField                  // int64, time.Duration
	countField                   // int
	flagField                    // bool
	rateField                    // float64
	offsetField                  // *time.Duration
	listField                    // []string
	textsField                   // map[string]string
	timesField                   // map[string]time.Duration
	valueField                   // *Value
)

var fieldKinds = map[reflect.Type]fieldKind{
	reflect.TypeFor[string](): textField, reflect.TypeFor[Type](): typeField,
	reflect.TypeFor[int64](): numberField, reflect.TypeFor[time.Duration](): numberField, reflect.TypeFor[int](): countField,
	reflect.TypeFor[bool](): flagField, reflect.TypeFor[float64](): rateField, reflect.TypeFor[*time.Duration](): offsetField,
	reflect.TypeFor[[]string](): listField, reflect.TypeFor[map[string]string](): textsField,
	reflect.TypeFor[map[string]time.Duration](): timesField, reflect.TypeFor[*Value](): valueField,
}

var opFields, valueFields = fieldsOf[Op](), fieldsOf[Value]()

// fieldsOf returns the fields of a struct in their order, of which there are at most 64.
func fieldsOf[T any]() (all []field) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, known := fieldKinds[f.Type]
		if !known || i == 64 {
			panic(fmt.Sprintf("history: the codec cannot encode the field %s of %s", f.Name, t))
		}
		all = append(all, field{name, `"` + name + `":`, kind, option == "", option == "omitzero", i, f.Offset})
	}
	return all
}

// fieldAt returns the address of the field in a struct, whose type must be T.
func fieldAt[T any](f *field, base unsafe.Pointer) *T { return (*T)(unsafe.Add(base, f.offset)) }

// fieldNamed returns the index of a field, or -1. It looks from the index next on, because fields are written in their order.
func fieldNamed(all []field, name []byte, next int) int {
	for n := range all {
		i := next + n
		if i >= len(all) {
			i -= len(all)
		}
		if all[i].name == string(name) {
			return i
		}
	}
	return -1
}

// fieldIn returns a pointer to the field of a struct, or nil if there is none with the name.
func fieldIn(of any, all []field, name string) any {
	i := fieldNamed(all, []byte(name), 0)
	if i < 0 {
		return nil
	}
	return reflect.ValueOf(of).Elem().Field(all[i].index).Addr().Interface()
}
