package checker

import (
	"cmp"
	"slices"
	"strings"

	"lockpick/checker/narrative"
	"lockpick/history"
)

// Property is a sentence about a lock that a history can violate, at one level, with everything that is to be known
// about it. Each is a variable in a file of its own.
type Property struct {
	Name  string `json:"property"` // mutual-exclusion, …
	Level string `json:"level"`    // L1, L2, L3, L4, L5, RMW, DF, AV, EXT, FM
	Says  string `json:"-"`        // the sentence
	Title string `json:"-"`        // the name in reports; "": Name
	Helps Advice `json:"-"`        // what makes a scenario exercise it; 0: nothing is known

	Needs           Feature `json:"-"` // what the lock or the guarded resource must have
	Votes           bool    `json:"-"` // it rests on the masters' votes, or on the tokens that they store
	Counts          bool    `json:"-"` // it rests on how many masters a lease needs
	Main            bool    `json:"-"` // it decides about a run that names no property, and comes first in headlines
	Leads           bool    `json:"-"` // it stands for its level, where somebody asks about the level
	Leases          bool    `json:"-"` // it is about leases, and not about what their holders do
	Exclusive       bool    `json:"-"` // it says which leases, or critical sections, must not overlap
	Writes          bool    `json:"-"` // it is about writes to the guarded resource
	Watched         bool    `json:"-"` // Watch detects its violations immediately
	Contended       bool    `json:"-"` // contended acquisitions, of which some are under faults, are all the evidence that it needs
	OnlyNamed       bool    `json:"-"` // it is judged only if the scenario names it
	NotOfLock       bool    `json:"-"` // the network or the resource alone can violate it, so it says nothing about a lock
	OnlyClaims      bool    `json:"-"` // only claims judge it: a lock that violates it wastes time
	Reported        bool    `json:"-"` // it can be judged of clients that report what they did (history.Header.Reported): a report of a grant comes after it
	ToleratesStalls bool    `json:"-"` // it must hold although a client stops at any step

	rules *rules // nil if this version does not know the property
}

// Feature is what a lock or the guarded resource must have, so that a property can be violated.
type Feature string

// The features.
const (
	FencingTokens Feature = "fencing tokens"
	Extensions    Feature = "extensions"
	CompareAndSet Feature = "compare and set" // of the guarded resource
)

// rules are the functions of a property.
type rules struct {
	judge    func(*run) *judgement                        // returns nil if the run did not exercise the property
	claim    func(*history.History) []narrative.Violation // finds the violations of a property that only claims judge, which has no judge
	failed   string                                       // says how many violations claim found
	gaps     []gap                                        // why a run did not exercise it; the first that is true counts
	exempt   []exemption                                  // the kinds of locks of which it is not judged
	anyToken bool                                         // it goes by what masters answer, whatever they store: it is also judged of locks whose masters store no token for each holder
}

// Properties lists all properties, in the order in which reports list them.
var Properties = []Property{
	UniqueTokens, Quorum, KeyLifetime, OwnKeys, MinValidity, MutualExclusion, DeadOnArrival, BeliefExclusion, Notified, NoStaleWrite, FencedWrites, NoLostUpdate,
	FencingMonotone, Extension, Continuity, DeadlockFree, HolderLoss, Availability, MinorityFailure, Progress, WakeUp, QuorumGranted, Fairness, Released, OrphanKeys, GhostKeys, Returns, NoCrash,
}

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

// Exclusive returns the properties that say what must not overlap: leases, and critical sections.
func Exclusive() []Property {
	return slices.DeleteFunc(slices.Clone(Properties), func(p Property) bool { return !p.Exclusive })
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
func PropertyNames() []string { return names(Properties) }

// AllNames names all properties, also those that only claims judge.
func AllNames() []string { return append(PropertyNames(), names(ContentionProperties)...) }

func names(properties []Property) (names []string) {
	for _, p := range properties {
		names = append(names, p.Name)
	}
	return names
}

// Named returns the property with a name, also one that only claims judge. It returns the zero value if there is none.
func Named(name string) Property {
	for _, all := range [][]Property{Properties, ContentionProperties} {
		if i := slices.IndexFunc(all, func(p Property) bool { return p.Name == name }); i >= 0 {
			return all[i]
		}
	}
	return Property{}
}

// scope says what the narrative of a violation of the property is about.
func (p Property) scope() narrative.Scope {
	return narrative.Scope{Title: p.Words(), Sections: !p.Leases, Effects: p.Exclusive, Writes: p.Writes}
}

// Words returns the property as people read it.
func (p Property) Words() string { return cmp.Or(p.Title, spaced(p.Name)) }

// TitleOf returns the name of a property as people read it.
func TitleOf(property string) string {
	return cmp.Or(Named(property).Title, spaced(property))
}

// spaced returns a property's name with spaces: "mutual exclusion" for "mutual-exclusion".
func spaced(name string) string { return strings.ReplaceAll(name, "-", " ") }

// LevelText is what people read of a level, which is one group of properties.
type LevelText struct {
	Name  string // L1, …
	Title string // a few words, such as "critical sections"
	Says  string // a sentence
}

// LevelTexts has all levels, in the order of Properties.
var LevelTexts = []LevelText{
	{"L1", "keys", "What masters store: a quorum granted each lease, keys live no longer than their TTL, and nobody touches another's key."},
	{"L2", "leases", "At any time at most one client may rely on the lock: mutual exclusion."},
	{"L3", "critical sections", "At any time at most one client acts as the holder, whatever its lease says."},
	{"L4", "writes", "The storage applies no write of a lease after a write of a later lease."},
	{"L5", "fenced writes", "L4, where the storage refuses lower fencing tokens."},
	{"RMW", "updates", "Where the storage compares and sets, no update is lost."},
	{"FM", "fencing tokens", "Fencing tokens grow in the order of the leases."},
	{"EXT", "extensions", "An extension is granted only while the lease is valid, and revives no key."},
	{"DF", "no deadlock", "Once all faults have ended, every key can be acquired again."},
	{"AV", "availability", "Clients are granted the lock in time, calls return, and no key is left behind."},
}

// LevelNamed returns the level with a name; without Title if there is none.
func LevelNamed(name string) LevelText {
	if i := slices.IndexFunc(LevelTexts, func(l LevelText) bool { return l.Name == name }); i >= 0 {
		return LevelTexts[i]
	}
	return LevelText{Name: name}
}
