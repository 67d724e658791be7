package claims

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"lockpick/campaign/scenario"
	"lockpick/internal/strictyaml"
)

//go:embed catalogue/*.yaml
var builtIn embed.FS

// BuiltIn stands for the built-in catalogue in a list of files of claims.
const BuiltIn = "builtin"

// catalogueFile is one YAML file of a catalogue.
type catalogueFile struct {
	Title  string  `yaml:"title"` // the group's title
	Bugs   bool    `yaml:"bugs,omitempty"`
	Claims []Claim `yaml:"claims"`
}

// Catalogue returns the built-in claims, in the order of the catalogue's files, planted
// bugs last.
func Catalogue() []Claim {
	claims, err := Load(BuiltIn)
	if err != nil {
		panic(err) // a test ensures that this never happens
	}
	return claims
}

// Load reads claims from YAML files; the name BuiltIn stands for the built-in
// catalogue. Errors name the file, the line and the column.
func Load(paths ...string) ([]Claim, error) {
	var all []Claim
	from := map[string]string{}
	add := func(path string, b []byte) error {
		claims, err := Parse(b)
		if err != nil {
			return fmt.Errorf("%s:%w", path, err)
		}
		for _, c := range claims {
			if before, twice := from[c.ID]; twice {
				return fmt.Errorf("%s: the claim %s is in %s already: give it another id", path, c.ID, before)
			}
			from[c.ID] = path
		}
		all = append(all, claims...)
		return nil
	}
	for _, path := range paths {
		if path != BuiltIn {
			b, err := strictyaml.Read(path)
			if err != nil {
				return nil, fmt.Errorf("catalogue: %w", err)
			}
			if err := add(path, b); err != nil {
				return nil, err
			}
			continue
		}
		entries, err := builtIn.ReadDir("catalogue")
		if err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		for _, e := range entries {
			b, err := builtIn.ReadFile("catalogue/" + e.Name())
			if err != nil {
				return nil, fmt.Errorf("catalogue: %w", err)
			}
			if err := add("claims/catalogue/"+e.Name(), b); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// Parse reads one file of claims. Errors begin with the line and the column.
func Parse(b []byte) (claims []Claim, err error) {
	defer strictyaml.RefusePanic(&err)
	if !bytes.HasSuffix(b, []byte("\n")) {
		b = append(bytes.Clone(b), '\n') // the parser drops a tag at the very end
	}
	tree, err := strictyaml.Parse(b, claimFields())
	if err != nil {
		return nil, err
	}
	var file catalogueFile
	decoder := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict())
	err = decoder.Decode(&file)
	if errors.Is(err, io.EOF) || err == nil && len(file.Claims) == 0 {
		return nil, errors.New("1:1: there are no claims: a catalogue has a title and a list of claims")
	}
	if err != nil {
		return nil, strictyaml.Explain(err, b, claimFields(), Claim{}, scenario.Scenario{})
	}
	if p := unprintable("title", file.Title); p != nil {
		return nil, fmt.Errorf("1:1: %w", p)
	}
	for i := range file.Claims {
		c := &file.Claims[i]
		c.Group, c.Bug = file.Title, file.Bugs
		if err := c.complete(decoder); err != nil {
			return nil, strictyaml.Explain(err, b, claimFields(), Claim{}, scenario.Scenario{})
		}
		if p := c.check(); p != nil {
			return nil, locate(tree, fmt.Sprintf("claims[%d]", i), c, p)
		}
	}
	return file.Claims, nil
}

// complete makes the scenarios: the fields of a case's scenario override the claim's, and a twin's
// override the case's. The decoder must be the file's, because it knows the file's anchors.
func (c *Claim) complete(d *yaml.Decoder) error {
	base := claimDefaults()
	if err := base.Overlay(c.Scenario, d); err != nil {
		return err
	}
	for i := range c.Cases {
		k := &c.Cases[i]
		k.Scenario = base
		k.Scenario.Name = strings.Trim("claim-"+c.ID+"-"+fileName(k.Name), "-")
		if err := k.Scenario.Overlay(k.Over, d); err != nil {
			return err
		}
		k.Scenario.AdoptServers(inClaim)
		if k.Twin == nil {
			continue
		}
		twin := *k.Twin // copy it, since a YAML alias may share it with another case
		k.Twin = &twin
		k.Twin.Scenario = k.Scenario
		k.Twin.Scenario.Name = k.Scenario.Name + "-twin"
		if err := k.Twin.Scenario.Overlay(k.Twin.Over, d); err != nil {
			return err
		}
		k.Twin.Scenario.AdoptServers(inClaim)
	}
	return nil
}

// inClaim reports whether a claim gives a field. The number of servers of another store is that store's.
func inClaim(field string) bool { return field != "masters" }

// locate puts the line and the column before a problem with a claim.
func locate(tree *ast.File, at string, c *Claim, p *scenario.Problem) error {
	token := strictyaml.Find(tree, at+"."+p.Field)
	// If the case inherits the field from the claim's scenario, the problem is there.
	if i := strings.Index(p.Field, "scenario."); i > 0 && token != nil {
		if field := p.Field[i:]; strictyaml.Find(tree, at+"."+field) != strictyaml.Find(tree, at) && !exists(tree, at+"."+p.Field) {
			token = strictyaml.Find(tree, at+"."+field)
		}
	}
	who := ""
	if c.ID != "" {
		who = fmt.Sprintf("claim %s: ", c.ID)
	}
	if token == nil {
		return fmt.Errorf("1:1: %s%w", who, p)
	}
	return fmt.Errorf("%d:%d: %s%w", token.Position.Line, token.Position.Column, who, p)
}

// exists reports whether a node has a path.
func exists(tree *ast.File, path string) bool {
	p, err := yaml.PathString("$." + path)
	if err != nil {
		return false
	}
	node, err := p.FilterFile(tree)
	return err == nil && node != nil
}

// claimFields lists the known fields, for the error on an unknown one.
var claimFields = sync.OnceValue(func() string {
	list := func(of any) string { return strings.Join(strictyaml.Fields(of), ", ") }
	return fmt.Sprintf("the fields of a claim are %s; of a case %s; of an expectation %s; of a scenario %s; of a step %s",
		list(Claim{}), list(Case{}), list(Expect{}), list(scenario.Scenario{}), list(scenario.Step{}))
})

// fileName turns a case's name into part of the name of a folder.
func fileName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := b.String()
	return strings.Trim(s[:min(len(s), 40)], "-")
}
