package claims

import (
	"fmt"
	"strings"
	"testing"
)

// TestTextsOfACatalogueCommandNoTerminal: control characters in any text of a catalogue are an error that names the
// field and has none of them.
func TestTextsOfACatalogueCommandNoTerminal(t *testing.T) {
	const form = `title: %s
claims:
  - id: X1
    slug: mine
    claim: %s
    basis: %s
    explain: %s
    cases:
      - name: %s
        shows: %s
        scenario: {lock: redlock}
        expect: [{property: mutual-exclusion, verdict: holds}]
`
	fields := []string{"title", "claim", "basis", "explain", "name", "shows"}
	parse := func(bad int, text string) error {
		values := make([]any, len(fields))
		for i := range values {
			values[i] = `"plain"`
		}
		if bad >= 0 {
			values[bad] = text
		}
		_, err := Parse(fmt.Appendf(nil, form, values...))
		return err
	}
	if err := parse(-1, ""); err != nil {
		t.Fatalf("plain texts: %v", err)
	}
	for i, field := range fields {
		for _, text := range []string{`"a\e[31mb"`, `"a\u202eb"`, `"a\u0007b"`} {
			err := parse(i, text)
			if err == nil || !strings.Contains(err.Error(), field) || strings.ContainsAny(err.Error(), "\x1b\x07\u202e") {
				t.Errorf("%s %s: %v", field, text, err)
			}
		}
	}
}
