package checker

import (
	"slices"
)

// PropertiesOf finds the properties with some levels or names; without arguments, all.
func PropertiesOf(names []string) []Property {
	if len(names) == 0 {
		return Properties
	}
	var out []Property
	for _, p := range Properties {
		if slices.Contains(names, p.Level) || slices.Contains(names, p.Name) {
			out = append(out, p)
		}
	}
	return out
}

// ShortName is the property's level, or its name if several properties have that level.
func (p Property) ShortName() string {
	if len(PropertiesOf([]string{p.Level})) == 1 {
		return p.Level
	}
	return p.Name
}

// Levels names the levels that a verdict can have.
func Levels() []string {
	var levels []string
	for _, p := range Properties {
		if !slices.Contains(levels, p.Level) {
			levels = append(levels, p.Level)
		}
	}
	return levels
}

// PropertyNames names the properties themselves.
func PropertyNames() []string {
	var names []string
	for _, p := range Properties {
		names = append(names, p.Name)
	}
	return names
}

// Property is a sentence about a lock that a history can violate, at one level.
type Property struct {
	Name  string `json:"property"` // mutual-exclusion, …
	Level string `json:"level"`    // L1, L2, L3, L4, L5, RMW, DF, AV, EXT, FM
	Says  string `json:"-"`        // the sentence
	Votes bool   `json:"-"`        // it rests on the masters' votes, or on the tokens that they store
}
