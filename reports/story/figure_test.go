package story

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockpick/checker/narrative"

	"pgregory.net/rapid"
)

// checkFigure: the figure of a violation is well-formed, lies within its frame, and numbers the steps
// of the reason.
func checkFigure(t *rapid.T, v *narrative.Violation) {
	drawn, _ := Figure(v, v.Clients)
	if len(v.Clients) > 0 && drawn == "" {
		t.Fatalf("%s on %s has no figure", v.Property, v.Key)
	}
	numbers, rows := 0, 0
	var height float64
	d := xml.NewDecoder(strings.NewReader(string(drawn)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, drawn)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		at := map[string]string{}
		for _, a := range e.Attr {
			at[a.Name.Local] = a.Value
		}
		if e.Name.Local == "svg" {
			if _, err := fmt.Sscanf(at["viewBox"], "0 0 600 %f", &height); err != nil {
				t.Fatal(err)
			}
		}
		for name, most := range map[string]float64{"x": 600, "x1": 600, "x2": 600, "cx": 600, "y": height, "y1": height, "y2": height, "cy": height} {
			if x, err := strconv.ParseFloat(at[name], 64); at[name] != "" && (err != nil || x < 0 || x > most) {
				t.Fatalf("%s of a %s is %s, of at most %v\n%s", name, e.Name.Local, at[name], most, drawn)
			}
		}
		switch {
		case e.Name.Local == "text" && strings.HasPrefix(at["class"], "number"):
			numbers++
		case e.Name.Local == "text" && at["class"] == "name":
			rows++
		}
	}
	if drawn != "" && (numbers != len(v.Steps()) || rows == 0) {
		t.Fatalf("%d numbers for %d steps, and %d rows\n%s", numbers, len(v.Steps()), rows, drawn)
	}
}

// TestEachOfManyLeasesIsItsOwnClients: where more than two leases overlap, none is drawn as another client's.
func TestEachOfManyLeasesIsItsOwnClients(t *testing.T) {
	v := &narrative.Violation{Property: "mutual-exclusion", Level: "L2", Key: "k0", At: 2 * time.Second, Until: 3 * time.Second}
	for i := range len(fills) + 1 {
		client, token := fmt.Sprintf("c%d", i+1), fmt.Sprintf("t%d", i+1)
		v.Clients, v.Tokens = append(v.Clients, client), append(v.Tokens, token)
		v.Events = append(v.Events, narrative.Event{Kind: narrative.EventGranted, At: time.Second, Until: 4 * time.Second, Client: client, Token: token, Key: "k0", Text: client + " was granted k0"})
	}
	state := newSnapshot(v)
	for i := range v.Events {
		state.apply(&v.Events[i])
	}
	seen := map[rune]string{}
	for _, client := range v.Clients {
		bar := state.client(client, 1500*time.Millisecond)[1]
		if other := seen[bar]; other != "" {
			t.Errorf("%s and %s have the sign %c", other, client, bar)
		}
		seen[bar] = client
	}
	if len(svgLeases) != len(fills) {
		t.Errorf("%d styles for %d signs", len(svgLeases), len(fills))
	}
}
