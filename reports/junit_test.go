package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"lockpick/campaign/judge"
	"lockpick/checker"
)

// TestJUnitFailsWhenTheExitCodeDoes: a run's JUnit has failures or errors if and only if its overall verdict is
// something else than holds, whatever was found and asked for.
func TestJUnitFailsWhenTheExitCodeDoes(t *testing.T) {
	names := []string{"L1", "L2", "L3", "DF", "FM", checker.MutualExclusion.Name, checker.DeadOnArrival.Name, checker.OwnKeys.Name}
	rapid.Check(t, func(t *rapid.T) {
		r := &judge.Result{Lock: "redlock", Driver: "sim"}
		for _, p := range checker.Properties {
			verdict := rapid.SampledFrom([]checker.Verdict{"", checker.Holds, checker.Holds, checker.Violated, checker.Unknown, checker.Invalid}).Draw(t, p.Name)
			if verdict != "" {
				r.Verdicts = append(r.Verdicts, checker.Result{Property: p, Verdict: verdict, Why: "needs 10 acquisitions, got 2"})
			}
		}
		if rapid.Bool().Draw(t, "most hold") {
			for i := range r.Verdicts {
				if r.Verdicts[i].Verdict == checker.Violated {
					r.Verdicts[i].Verdict = checker.Holds
				}
			}
		}
		r.CutShort = rapid.SampledFrom([]string{"", "", "interrupted"}).Draw(t, "cut short")
		r.SetProperties(rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "asked"))
		var text bytes.Buffer
		if err := exportJUnit(&text, &Export{Result: r}); err != nil {
			t.Fatal(err)
		}
		var all junitSuites
		if err := xml.Unmarshal(text.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		if fails := all.Failures+all.Errors > 0; fails != (r.Overall != checker.Holds) {
			t.Fatalf("the run is %s (%s), and its JUnit says %d failures and %d errors", r.Overall, r.Why, all.Failures, all.Errors)
		}
		if (all.Failures > 0) != (r.Overall == checker.Violated) {
			t.Fatalf("the run is %s (%s), and its JUnit says %d failures", r.Overall, r.Why, all.Failures)
		}
		if err := junitSchema(text.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}

// junitSchema checks XML against what readers of JUnit know (Jenkins, GitLab, Ant): the elements, their order and
// their attributes.
func junitSchema(text []byte) error {
	type element struct {
		attributes, children []string
	}
	schema := map[string]element{
		"":           {nil, []string{"testsuites"}},
		"testsuites": {[]string{"name", "time", "tests", "failures", "disabled", "errors"}, []string{"testsuite"}},
		"testsuite":  {[]string{"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"}, []string{"testcase"}},
		"testcase":   {[]string{"name", "assertions", "time", "classname", "status"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
		"skipped":    {[]string{"message"}, nil},
		"error":      {[]string{"type", "message"}, nil},
		"failure":    {[]string{"type", "message"}, nil},
		"system-out": {nil, nil},
		"system-err": {nil, nil},
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	path := []string{""}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			name, parent := x.Name.Local, path[len(path)-1]
			if !slices.Contains(schema[parent].children, name) {
				return errors.New(name + " in " + parent)
			}
			for _, a := range x.Attr {
				if !slices.Contains(schema[name].attributes, a.Name.Local) {
					return errors.New("attribute " + a.Name.Local + " of " + name)
				}
				if slices.Contains([]string{"tests", "failures", "errors", "skipped"}, a.Name.Local) {
					if _, err := strconv.Atoi(a.Value); err != nil {
						return err
					}
				}
			}
			path = append(path, name)
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
}
