package fault

import (
	"slices"
	"strings"
)

// Target is the kind of component that a fault hits.
type Target string

// The targets.
const (
	Masters  Target = "masters"  // the masters' processes
	Machines Target = "machines" // the machines below the masters: clocks, disks, memory
	Links    Target = "links"    // the links between clients and masters
	Clients  Target = "clients"
	Peers    Target = "peers" // the links between the servers of a service
)

// Service is the driver of the servers of a service, by name.
const Service = "service"

// Existing is the driver of Redis servers that Lockpick did not start, by name.
const Existing = "existing"

// The features that a driver may need for a fault; see Kind.Needs.
const (
	Shim     = "shim"
	Replicas = "replicas"
	Memory   = "memory" // a memory limit
)

// Process is the effect of a fault on a master's process.
type Process int

// The effects on a process, ordered so that the process ends from Ends on.
const (
	RunsOn     Process = iota
	Stops              // it is stopped and continues later
	Ends               // SIGKILL ends it
	ShutsDown          // SIGTERM ends it: it may write a snapshot first
	LosesPower         // SIGKILL ends it, and data that was not fsynced is lost
	IsReplaced         // a replica takes its place
)

// Clock says whose clock a fault changes.
type Clock int

// The clocks.
const (
	NoClock Clock = iota
	MasterClock
	ClientClock
)

// Disk is the effect of a fault on a master's disk.
type Disk int

// The effects on a disk.
const (
	GoodDisk Disk = iota
	SlowDisk
	LyingDisk // fsync succeeds but does nothing
	FullDisk
)

// Link is the effect of a fault on the links between clients and masters.
type Link int

// The effects on a link.
const (
	OpenLink Link = iota
	CutLink
	SlowLink
	ResetLink
)

// Client is the effect of a fault on a client.
type Client int

// The effects on a client.
const (
	ClientRunsOn Client = iota
	ClientStops
	ClientEnds
)

// The fields of a schedule's step that only some kinds accept.
const (
	Mode       = "mode"
	Direction  = "direction"
	Delay      = "delay"
	Point      = "point"
	ClockField = "clock"
	Rate       = "rate"
	Strict     = "strict"
	Torn       = "torn"
	Outage     = "outage"
	SplitBrain = "split_brain"
)

// Kind is a kind of fault, with all facts about it.
type Kind struct {
	Name    string
	Aliases []string // names in histories of other tools
	Summary string   // one line
	Hits    Target
	Needs   string   // Shim, Replicas, Memory, or nothing
	Drivers []string // the drivers that support it, if they have the feature that it needs
	Assumes string   // its assumptions about real systems, in a sentence
	Takes   []string // the fields of a step that are its parameters

	Process Process
	Evicts  bool // a master may remove keys too early
	Clock   Clock
	Disk    Disk
	Link    Link
	Client  Client

	Isolates bool // of a cut link: it cuts a client from all masters, for longer than its lease

	healed string                             // a predicate for its masters when it ended; see Healed
	did    func(s *Scene) (text, mark string) // see Scene.Did
}

// Of returns the kind with a name. A name that begins with the name of a kind, such as
// clock-jump, has the kind's facts and no texts. Any other unknown name has no facts.
func Of(name string) Kind {
	if k, ok := Named(name); ok {
		return k
	}
	for i := strings.LastIndexByte(name, '-'); i > 0; i = strings.LastIndexByte(name[:i], '-') {
		if k, ok := Named(name[:i]); ok {
			k.Name, k.healed, k.did = name, "", nil
			return k
		}
	}
	return Kind{Name: name}
}

// Named returns the kind with a name or an alias.
func Named(name string) (Kind, bool) {
	if k := named[name]; k != nil {
		return *k, true
	}
	return Kind{}, false
}

// named holds the kinds by their names and aliases. A search among them took an eighth of the time of judging a long history.
var named = func() map[string]*Kind {
	all := map[string]*Kind{}
	for i := range Kinds {
		for _, name := range append(Kinds[i].Aliases, Kinds[i].Name) {
			all[name] = &Kinds[i]
		}
	}
	return all
}()

// SkewsClients reports whether the kind with a name changes the clocks of clients.
func SkewsClients(name string) bool { return Of(name).Clock == ClientClock }

// Names lists the names of all kinds.
func Names() []string {
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

// Taking lists the names of the kinds that accept a field of a step.
func Taking(field string) []string {
	var names []string
	for _, k := range Kinds {
		if k.Accepts(field) {
			names = append(names, k.Name)
		}
	}
	return names
}

// known reports whether the kind is in the registry.
func (k Kind) known() bool { return k.Hits != "" }

// On reports whether a driver supports the kind, if it has the feature that the kind needs.
func (k Kind) On(driver string) bool { return slices.Contains(k.Drivers, driver) }

// NamesOn lists the names of the kinds that a driver supports.
func NamesOn(driver string) []string {
	var names []string
	for _, k := range Kinds {
		if k.On(driver) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Accepts reports whether a step of the kind takes a field.
func (k Kind) Accepts(field string) bool { return slices.Contains(k.Takes, field) }

// HitsMaster reports whether the kind hits masters or the machines below them.
func (k Kind) HitsMaster() bool { return k.Hits == Masters || k.Hits == Machines }

// EndsMaster reports whether a master's process ends. It is started again when the fault heals.
func (k Kind) EndsMaster() bool { return k.Process >= Ends }

// TakesDown reports whether the master is down as long as the fault lasts. It is not if a replica
// takes its place.
func (k Kind) TakesDown() bool { return k.EndsMaster() && k.Process != IsReplaced }

// Forgets reports whether a master can lose a key too early.
func (k Kind) Forgets() bool { return k.EndsMaster() || k.Clock == MasterClock || k.Evicts }

// AtOnce reports whether the fault must strike before replicas have received a lease.
func (k Kind) AtOnce() bool { return k.Process == IsReplaced }

// Lasts reports whether the fault has no effect alone, but only together with other faults.
func (k Kind) Lasts() bool { return k.Disk == SlowDisk || k.Disk == LyingDisk }

// OnlyClientsShow reports whether only clients can tell that the fault took effect.
func (k Kind) OnlyClientsShow() bool { return k.Process == Stops || k.Link != OpenLink }

// WithholdsVotes reports whether the fault can keep a master's vote from a client.
func (k Kind) WithholdsVotes() bool {
	return k.EndsMaster() || k.Process == Stops || k.Link != OpenLink
}

// Silences reports whether the fault may be the reason why a command got no reply in time.
func (k Kind) Silences() bool {
	return k.WithholdsVotes() || k.Disk == SlowDisk || k.Disk == FullDisk
}

// Delays reports whether the fault only delays a command, so that the master still executes it.
func (k Kind) Delays() bool {
	return k.Process == Stops || k.Link == SlowLink || k.Disk == SlowDisk || k.Disk == FullDisk
}

// Disrupts reports whether masters may answer clients late or never because of the fault. An
// unknown fault counts.
func (k Kind) Disrupts() bool { return k.Silences() || k.Evicts || !k.known() }

// The colours of a report, with their names in its style sheet.
const (
	ColourPaused = "paused"
	ColourDown   = "down"
	ColourCut    = "cut"
	ColourSlow   = "slow"
)

// Colour returns the colour for the effect of the kind.
func (k Kind) Colour() string {
	switch {
	case k.Process == Stops, k.Client == ClientStops:
		return ColourPaused
	case k.EndsMaster(), k.Client == ClientEnds:
		return ColourDown
	case k.Link == CutLink:
		return ColourCut
	}
	return ColourSlow
}
