package term

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes v as one JSON value, indented and without escaping HTML.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
