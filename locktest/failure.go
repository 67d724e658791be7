package locktest

import (
	"fmt"
	"os"
	"strings"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker/narrative"
	"lockpick/history"
)

// story renders the message of a failure: the violated property, the explanation and the faults.
func story(v *narrative.Violation, s scenario.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is violated: %s\n", v.Level, v.Property, v.Summary)
	for _, step := range v.Reason {
		fmt.Fprintf(&b, "    %s\n", step)
	}
	if len(s.Schedule) > 0 {
		fmt.Fprintf(&b, "faults (%d masters with persistence %s, %d clients):\n", s.Masters, s.Persistence, s.Clients)
		for _, step := range s.Schedule {
			fmt.Fprintf(&b, "    %s\n", step)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// keepRun stores a run in a temporary folder, which the program lockpick can read, and returns a line about
// it.
func keepRun(h *history.History) string {
	store, err := os.MkdirTemp("", "lockpick-")
	if err == nil {
		var dir string
		if dir, _, err = (campaign.Store{Dir: store}).Add(h, ""); err == nil {
			return "\nrun: " + dir + " (lockpick show makes an HTML page of it)"
		}
	}
	return fmt.Sprintf("\nthe run could not be kept: %v", err)
}
