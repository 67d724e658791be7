package remote

import (
	"encoding/json"
	"testing"

	"lockpick/internal/inputs"
)

// FuzzMessage: no line that a client process prints makes the harness panic; a message that it
// takes is complete, and is taken again as it was once it is written.
func FuzzMessage(f *testing.F) {
	for _, line := range messages {
		f.Add([]byte(line))
	}
	f.Fuzz(checkMessage)
}

func checkMessage(t *testing.T, line []byte) {
	m, err := parse(line)
	if err != nil {
		return
	}
	if err := m.check(); err != nil {
		t.Fatalf("taken, and yet: %v", err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(text)
	if err != nil {
		t.Fatalf("written as %s, it is not taken: %v", text, err)
	}
	if other, err := json.Marshal(again); err != nil || string(other) != string(text) {
		t.Fatalf("%s became %s (%v)", text, other, err)
	}
}

var messages = []string{
	`{"type":"ok"}`, `{"type":"fail","error":"refused"}`, `{"type":"info","error":"no answer"}`,
	`{"type":"ok","token":"a1","fence":7,"left":1900000000,"at":12}`,
	`{"type":"vote","value":{"master":"m1","token":"a1"}}`, `{"type":"point","value":{"point":"before-write"}}`,
	`{"type":"ended","value":{"token":"a1"}}`, `{"type":"clock","value":{}}`,
	`{"type":"vote"}`, `{"type":"other"}`, `{}`, `null`, `[]`, `{"type":1}`, `{"type":"ok","left":1e999}`, ``, `{"type":"ok"} {"type":"ok"}`,
}

// TestManyInputs is the same of many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzMessage", func(t *testing.T) {
		inputs.Try(t, "FuzzMessage", inputs.Texts(messages), checkMessage)
	})
}
