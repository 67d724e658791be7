package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDecodeAsTheStandardLibrary checks that the decoder parses lines, valid or mutated, as
// encoding/json does, and rejects the same ones. There are two differences: only the decoder
// rejects fields that occur twice, and it does not know names in another case.
func TestDecodeAsTheStandardLibrary(t *testing.T) {
	fast, slow := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var d decoder
		for range 4 { // reuse the texts and values of the previous lines
			var op Op
			if rapid.Bool().Draw(t, "plain") {
				op = vote()
			} else {
				fill(t, reflect.ValueOf(&op).Elem())
			}
			line, err := appendOp(nil, &op)
			if err != nil {
				t.Fatal(err)
			}
			line = append(line, '\n')
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				i := rapid.IntRange(0, len(line)-1).Draw(t, "at")
				with := []byte(rapid.SampledFrom([]string{"", "0", "1", " ", "\"", ",", "}", "null", "\\", "e5", "-", "\t", `"bit":false,`, `"yes":true,`, `"index":7,`, `"value":{"took":1},`, `"unknown":[{}],`, "T", "\n", " : "}).Draw(t, "with"))
				line = append(line[:i:i], append(with, line[i+rapid.IntRange(0, 1).Draw(t, "instead"):]...)...)
			}
			same(t, &d, line)
			d.line, d.at = line, 0
			if d.plainOp(&Op{}) && d.end() {
				fast++
			} else {
				slow++
			}
		}
	})
	if fast == 0 || slow == 0 {
		t.Errorf("%d lines were read in one pass and %d by strict: both are needed", fast, slow)
	}
}

// same compares how the decoder and encoding/json parse a line.
func same(t interface{ Fatalf(string, ...any) }, d *decoder, line []byte) {
	var want, got Op
	problem := json.Unmarshal(line, &want)
	err := d.op(line, &got)
	if err == nil && len(d.unknownFields) > 0 { // encoding/json may know the field in another case
		if !json.Valid(line) {
			t.Fatalf("%q is not JSON, and was read", line)
		}
		return
	}
	if problem == nil && err != nil && (strings.Contains(err.Error(), "stands twice") || strings.Contains(err.Error(), "not a JSON object") || strings.Contains(err.Error(), "more than")) {
		return
	}
	if (err == nil) != (problem == nil) {
		t.Fatalf("of %q encoding/json says %v, and decoder %v", line, problem, err)
	}
	if problem == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as\n%+v %+v\nby encoding/json, and as\n%+v %+v", line, want, want.Value, got, got.Value)
	}
}

// TestUnknownAndDoubledFields checks that both plainOp and strict detect them.
func TestUnknownAndDoubledFields(t *testing.T) {
	for line, want := range map[string]string{
		`{"index":0,"Time":5}`:                                "[Time] <nil>",
		`{"index":0,"value":{"valid_untill":5,"a":{"b":[]}}}`: "[value.valid_untill value.a] <nil>",
		`{"index":0,"time":5,"index":0}`:                      `[] field "index" stands twice`,
		`{"value":{"token":"a","token":"a"}}`:                 `[] field "value": field "token" stands twice`,
		`{"value":{"took":1},"value":{"yes":true}}`:           `[] field "value" stands twice`,
		`{"value":{"keys":{"a":"1"}}}`:                        "[] <nil>",
		`{"index":"0"}`:                                       `[] field "index" is a string, but must be a whole number`,
		`{"value":{"yes":1}}`:                                 `[] field "value.yes" is a number, but must be true or false`,
		`{"value":[]}`:                                        `[] field "value": it is not a JSON object`,
		`{"index":0} {}`:                                      "[] something follows the JSON object",
		`{"index":0`:                                          "[] it ends before its JSON is complete",
	} {
		var d decoder
		var op Op
		err := d.op([]byte(line), &op)
		if got := fmt.Sprint(d.unknownFields, " ", err); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

func vote() Op {
	return Op{Index: 123, Time: 1234567890, Process: "m1", Type: OK, F: FVote, Key: "k0", Value: &Value{
		Token: "0123456789012345678901234567890123456789", Client: "c1", Command: CommandSet, Yes: true, Took: 912 * time.Microsecond,
	}}
}
