//go:build real

package campaign

import (
	"errors"
	"strings"
	"testing"

	"lockpick/campaign/scenario"
)

// TestAClientThatEndsAtItsFirstRequestEndsTheRun: nothing can be judged, and the error has the line that it was sent.
func TestAClientThatEndsAtItsFirstRequestEndsTheRun(t *testing.T) {
	s := foreignScenario(t, "sh", "-c", `read -r l; echo '{"type":"ok"}'; read -r l; echo "no integer" >&2; exit 1`)
	_, _, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: t.Logf, Trust: TrustAll})
	var p *scenario.Problem
	if !errors.As(err, &p) || !strings.Contains(p.Says, `"op":"acquire"`) || !strings.Contains(p.Says, "no integer") || !strings.Contains(p.Says, "never answered an acquire") {
		t.Fatalf("%v", err)
	}
}
