package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestReadersOfJUnitKnowEachElement: whatever stands in names and messages.
func TestReadersOfJUnitKnowEachElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return rapid.OneOf(rapid.String(), rapid.Just("<a>&\x00\xff]]>")).Draw(t, label)
		}
		all := &Suites{Name: text("name"), Time: "1.500"}
		suite := &Suite{Name: text("suite")}
		all.Suites = []*Suite{suite}
		for range rapid.IntRange(0, 5).Draw(t, "cases") {
			c := Case{Name: text("case"), Class: text("class"), Time: "0", Out: text("out")}
			message := &Message{Message: text("message"), Text: text("text")}
			switch rapid.IntRange(0, 3).Draw(t, "outcome") {
			case 1:
				c.Failure = message
			case 2:
				c.Error = message
			case 3:
				c.Skipped = message
			}
			all.Add(suite, c)
		}
		var b bytes.Buffer
		if err := all.Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := junitSchema(b.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
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
