package claims

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"

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
	all := strictyaml.List[Claim]{What: "claim", Parse: Parse, ID: func(c *Claim) string { return c.ID }}
	for _, path := range paths {
		if path == BuiltIn {
			if err := all.AddFolder(builtIn, "catalogue", "claims/catalogue"); err != nil {
				return nil, err
			}
			continue
		}
		claims, err := strictyaml.Load(path, "catalogue", Parse)
		if err == nil {
			err = all.Add(path, claims)
		}
		if err != nil {
			return nil, err
		}
	}
	return all.Items, nil
}

// Parse reads one file of claims. Errors begin with the line and the column.
func Parse(b []byte) (claims []Claim, err error) {
	defer strictyaml.RefusePanic(&err)
	var content catalogueFile
	file, err := strictyaml.Decode(b, &content, claimFields(), scenario.Scenario{})
	if errors.Is(err, strictyaml.ErrEmpty) || err == nil && len(content.Claims) == 0 {
		return nil, errors.New("1:1: there are no claims: a catalogue has a title and a list of claims")
	}
	if err != nil {
		return nil, err
	}
	if p := unprintable("title", content.Title); p != nil {
		return nil, fmt.Errorf("1:1: %w", p)
	}
	for i := range content.Claims {
		c := &content.Claims[i]
		c.Group, c.Bug = content.Title, content.Bugs
		if err := c.complete(file); err != nil {
			return nil, file.Explain(err)
		}
		if p := c.check(); p != nil {
			return nil, locate(file, fmt.Sprintf("claims[%d].", i), c, p)
		}
	}
	return content.Claims, nil
}

// complete makes the scenarios: the fields of a case's scenario override the claim's, and a twin's
// override the case's. file must be that of the claim.
func (c *Claim) complete(file *strictyaml.File) error {
	base := claimDefaults()
	if err := base.Overlay(c.Scenario, file); err != nil {
		return err
	}
	for i := range c.Cases {
		k := &c.Cases[i]
		k.Scenario = base
		k.Scenario.Name = strings.Trim("claim-"+c.ID+"-"+fileName(k.Name), "-")
		if err := k.Scenario.Overlay(k.Over, file); err != nil {
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
		if err := k.Twin.Scenario.Overlay(k.Twin.Over, file); err != nil {
			return err
		}
		k.Twin.Scenario.AdoptServers(inClaim)
	}
	return nil
}

// inClaim reports whether a claim gives a field. The number of servers of another store is that store's.
func inClaim(field string) bool { return field != "masters" }

// locate puts the line and the column before a problem with the claim at a path.
func locate(file *strictyaml.File, at string, c *Claim, p *scenario.Problem) error {
	field := at + p.Field
	// If the case inherits the field from the claim's scenario, the problem is there.
	if i := strings.Index(p.Field, "scenario."); i > 0 && !file.Has(field) && file.Has(at+p.Field[i:]) {
		field = at + p.Field[i:]
	}
	if c.ID == "" {
		return file.At(field, p)
	}
	return file.At(field, fmt.Errorf("claim %s: %w", c.ID, p))
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
