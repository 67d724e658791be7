package fault

import (
	"fmt"
	"slices"
	"strings"
)

// Scene is one fault with the details that its texts contain.
type Scene struct {
	Masters     []string // the masters that it hit
	Clients     []string // the clients that it hit; for a fault on links, empty means all
	Params      map[string]string
	Persistence string // a clause: "without persistence"
	AtPoint     string // the point at which a client is hit: " before it read from the resource"; or ""
}

// Persistence describes how masters persist their keys, as a clause for Scene.Persistence.
func Persistence(how string) string {
	switch how {
	case "":
		return "with a persistence that was not recorded"
	case "own":
		return "with its own files"
	case "none":
		return "without persistence"
	default:
		return "with persistence " + how
	}
}

// AtPoint describes the point at which a client is stopped or ended, as a clause for Scene.AtPoint.
func AtPoint(point string) string {
	switch point {
	case "":
		return ""
	case "after-quorum":
		return " after its quorum, before it read the time"
	case "before-enter":
		return " between finding its lease valid and entering"
	case "before-write":
		return " between finding its lease valid and writing"
	case "before-mark":
		return " between finding its lease valid and putting its token into the resource"
	case "before-read":
		return " before it read from the resource"
	}
	return " at the point " + point
}

// Did describes the effect of a fault of the kind: text is a clause, mark a word for diagrams.
func (k Kind) Did(s *Scene) (text, mark string) {
	if k.did == nil {
		hit := slices.Sorted(slices.Values(slices.Concat(s.Masters, s.Clients)))
		return fmt.Sprintf("%s struck %s", k.Name, Enumerate(slices.Compact(hit))), k.Name
	}
	return k.did(s)
}

// Healed returns a predicate that describes what the masters did when the fault ended, or "".
func (k Kind) Healed() string { return k.healed }

func (s *Scene) masters() string { return Enumerate(s.Masters) }

// everyone names the clients of a fault on links.
func (s *Scene) everyone() string {
	if len(s.Clients) == 0 {
		return "every client"
	}
	return Enumerate(s.Clients)
}

// masters describes the state of masters.
func masters(were, mark string) func(*Scene) (string, string) {
	return func(s *Scene) (string, string) { return s.masters() + " " + was(s.Masters) + " " + were, mark }
}

// ends describes how masters ended, and their persistence.
func ends(were, mark string) func(*Scene) (string, string) {
	return func(s *Scene) (string, string) {
		return s.masters() + " " + was(s.Masters) + " " + were + ", " + s.Persistence, mark
	}
}

// disks describes the state of masters' disks.
func disks(did, mark string) func(*Scene) (string, string) {
	return func(s *Scene) (string, string) { return "the disk of " + s.masters() + " " + did, mark }
}

// clients describes the order to clients: whether they executed it depends on their operations at
// that time.
func clients(done, mark string) func(*Scene) (string, string) {
	return func(s *Scene) (string, string) {
		return Enumerate(s.Clients) + " was to be " + done + s.AtPoint, mark
	}
}

func cut(s *Scene) (text, mark string) {
	how := ""
	switch {
	case s.Params["mode"] == "hold":
		how = ": what they sent each other was held back"
	case s.Params["direction"] == "replies":
		how = ": the answers were lost"
	case s.Params["direction"] == "requests":
		how = ": the commands were lost"
	}
	mark, verb := "cut", was(s.Clients)
	if len(s.Clients) == 1 {
		mark = "cut " + s.Clients[0]
	}
	if len(s.Clients) == 0 {
		verb = "was"
	}
	return s.everyone() + " " + verb + " cut off from " + s.masters() + how, mark
}

// changed describes a change of a clock, for the end of a sentence.
func changed(clock string) string {
	switch {
	case strings.HasPrefix(clock, "+"):
		return " jumped forward by " + clock[1:]
	case strings.HasPrefix(clock, "-"):
		return " jumped back by " + clock[1:]
	case strings.HasPrefix(clock, "x"):
		return " ran at " + clock[1:] + " times the true rate"
	case clock == "":
		return " was changed, by how much was not recorded"
	}
	return " was off: " + clock
}

func clockMark(clock string) string {
	if clock == "" {
		return "clock"
	}
	return clock
}

// Enumerate joins names as in a sentence: "m1, m2 and m3", or "no one" if there are none.
func Enumerate(names []string) string {
	switch n := len(names); n {
	case 0:
		return "no one"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// was returns the verb for a list of names.
func was(names []string) string {
	if len(names) == 1 {
		return "was"
	}
	return "were"
}
