package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// place identifies a line of a file.
type place struct {
	file int
	line int
}

// problem is a kind of flaw of a log.
type problem int

const (
	unreadable problem = iota
	tooLong
	badTime
	badTTL
	badValue
	longValue
	noTimeAtAll
	noKey
	noOwner
	backwards
	duplicate
	unsorted
	strayRelease
	strayExtension
	othersRelease
	reentrant
	noRelease
	noTTL
	noEnd
	overOnArrival
	numProblems
)

// problemTexts describes what is wrong with a line and how it is treated, in the singular and in
// the plural.
var problemTexts = [numProblems][2]string{
	unreadable:     {"line cannot be read and was left out", "lines cannot be read and were left out"},
	tooLong:        {"line is longer than 16 MiB and was left out", "lines are longer than 16 MiB and were left out"},
	badTime:        {"time cannot be read, or is not unique in its zone, and its line was left out", "times cannot be read, or are not unique in their zone, and their lines were left out"},
	badTTL:         {"TTL is not a duration and was not used", "TTLs are not durations and were not used"},
	badValue:       {"value is neither text nor a number, and its line was left out", "values are neither texts nor numbers, and their lines were left out"},
	longValue:      {"key, token, client or host is longer than 4096 bytes, and its line was left out", "keys, tokens, clients or hosts are longer than 4096 bytes, and their lines were left out"},
	noTimeAtAll:    {"event has no time and was left out", "events have no time and were left out"},
	noKey:          {"event does not say which lock it is about (key) and was left out", "events do not say which lock they are about (key) and were left out"},
	noOwner:        {"event names neither token nor client and was left out", "events name neither token nor client and were left out"},
	backwards:      {"hold ends before it begins and was left out", "holds end before they begin and were left out"},
	duplicate:      {"event is there twice and was counted once", "events are there more than once and were counted once"},
	unsorted:       {"line has an earlier time than the line above; lines were sorted", "lines have an earlier time than the line above; lines were sorted"},
	strayRelease:   {"release belongs to no acquisition in the log", "releases belong to no acquisition in the log"},
	strayExtension: {"extension belongs to no acquisition in the log", "extensions belong to no acquisition in the log"},
	othersRelease:  {"release is by a client that had not acquired the lock, and ends no hold", "releases are by clients that had not acquired the lock, and end no hold"},
	reentrant:      {"acquisition is by a client that already held the lock with the same token: the lock is re-entrant, or a release is missing", "acquisitions are by clients that already held the lock with the same token: the lock is re-entrant, or releases are missing"},
	noRelease:      {"hold has no release, and is certain only up to its last extension", "holds have no release, and are certain only up to their last extension"},
	noTTL:          {"hold has neither TTL nor valid_until", "holds have neither TTL nor valid_until"},
	noEnd:          {"hold has neither a release nor an end of its lease", "holds have neither a release nor an end of their lease"},
	overOnArrival:  {"lease was over before its acquire returned, and so held nothing", "leases were over before their acquires returned, and so held nothing"},
}

// Problem is a flaw in some lines of a log.
type Problem struct {
	Text   string   `json:"text"`
	Count  int      `json:"count"`
	Places []string `json:"places"` // the first lines that have it, as file:line
}

func (p Problem) String() string {
	where := strings.Join(p.Places, ", ")
	if p.Count > len(p.Places) {
		where += ", …"
	}
	return fmt.Sprintf("%d %s (%s)", p.Count, p.Text, where)
}

// maxPlaces is the maximum number of lines that a problem names.
const maxPlaces = 3

// flaws counts problems and keeps the first lines that have them.
type flaws [numProblems]struct {
	count int
	first []place
}

func (fs *flaws) add(p problem, at place) {
	f := &fs[p]
	f.count++
	i, _ := slices.BinarySearchFunc(f.first, at, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	if i < maxPlaces {
		f.first = slices.Insert(f.first[:min(len(f.first), maxPlaces-1)], min(i, len(f.first)), at)
	}
}

// problems returns the flaws as Problems with their texts.
func (fs *flaws) problems(name func(place) string) []Problem {
	var all []Problem
	for p, f := range fs {
		if f.count == 0 {
			continue
		}
		x := Problem{Text: problemTexts[p][1], Count: f.count}
		if f.count == 1 {
			x.Text = problemTexts[p][0]
		}
		for _, at := range f.first {
			x.Places = append(x.Places, name(at))
		}
		all = append(all, x)
	}
	return all
}
