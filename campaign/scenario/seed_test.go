package scenario_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/history"
)

// TestFieldsOutsideTheSeed: the same seed makes the same simulated history whatever these fields say.
func TestFieldsOutsideTheSeed(t *testing.T) {
	base := scenario.Defaults()
	base.Driver, base.TimeLimit = scenario.Sim, 3*time.Second
	want, err := campaign.Record(t.Context(), base, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scenario.Fields {
		if !f.OutsideSeed {
			continue
		}
		s := base
		switch v := f.Of(&s).(type) {
		case *string:
			*v = "other"
		case *[]string:
			*v = []string{"L2"}
		case *bool:
			*v = true
		default:
			t.Fatalf("%s: no other value of a %T", f.Name, v)
		}
		got, err := campaign.Record(t.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got.Ops, want.Ops, func(a, b history.Op) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("another %s makes another history of the same seed", f.Name)
		}
	}
}
