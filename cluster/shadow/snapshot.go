package shadow

import (
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"time"

	"lockpick/cluster"
)

// probePrefix is the prefix of the keys with which a connection to a master is tried out.
const probePrefix = "lockpick:probe:"

// snapshotScript returns the time and all keys of a master.
//
//go:embed snapshot.lua
var snapshotScript string

// maxSnapshot limits the keys of a snapshot.
const maxSnapshot = 100_000

// snapshot is what a master stored when it executed snapshotScript.
type snapshot struct {
	now int64 // ms of the master's clock
	all map[place]entry
	err error
}

// snapshotCommand returns the command that takes a snapshot; stamp names its line.
func snapshotCommand(stamp string) []string {
	return []string{"EVAL", snapshotScript, "0", stamp, cluster.FillerPrefix, probePrefix, strconv.Itoa(maxText), strconv.Itoa(maxSnapshot)}
}

var errSnapshot = errors.New("the reply to the script of a snapshot has another form")

// parseSnapshot parses the reply to snapshotCommand.
func parseSnapshot(v value) (s snapshot) {
	s.err = errSnapshot
	if len(v.elems) < 2 {
		return s
	}
	seconds, err1 := strconv.ParseInt(string(v.elems[0].text), 10, 64)
	us, err2 := strconv.ParseInt(string(v.elems[1].text), 10, 64)
	if err1 != nil || err2 != nil {
		return s
	}
	s.now = seconds*1000 + us/1000
	s.all = make(map[place]entry, len(v.elems))
	for _, e := range v.elems[2:] {
		if len(e.elems) != 5 {
			return s
		}
		db, err1 := strconv.Atoi(string(e.elems[0].text))
		deadline, err2 := strconv.ParseInt(string(e.elems[3].text), 10, 64)
		if err1 != nil || err2 != nil {
			return s
		}
		found := entry{kind: string(e.elems[2].text), deadline: max(deadline, 0)}
		switch {
		case found.kind == "none":
			continue // it has expired
		case found.kind == "string" && e.elems[4].kind == '$':
			found.text = string(e.elems[4].text)
		case found.kind == "string":
			found.doubt = "the value is longer than 64 KB"
		}
		s.all[place{db, string(e.elems[1].text)}] = found
	}
	s.err = nil
	return s
}

// deadlineSlack is how much a deadline may differ after a restart from the one before, in ms: that of
// the account follows from the time at which the master had executed the command.
const deadlineSlack = 100

// compare makes the copy what a snapshot says, and returns the changes that lead there, in the order
// of the keys.
func (k *keys) compare(s snapshot) []cluster.Change {
	var places []place
	for p := range k.all {
		places = append(places, p)
	}
	for p := range s.all {
		if _, had := k.all[p]; !had {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, comparePlaces)
	var changes []cluster.Change
	for _, p := range places {
		old, had := k.all[p]
		found, is := s.all[p]
		c := cluster.Change{Key: p.name(), Type: found.kind, Value: found.text, Before: old.text, Left: left(found.deadline, s.now), Doubtful: found.doubt}
		switch {
		case !is && k.blind == "" && old.doubt == "" && old.deadline != 0 && old.deadline <= s.now+deadlineSlack:
			continue // its deadline has passed, and the event comes when the master deletes it
		case !is:
			c.Kind, c.Type, c.Doubtful = cluster.Lost, old.kind, old.doubt
			if old.deadline != 0 && old.deadline <= s.now {
				c.Kind = cluster.Expired
				k.over[p] = true
			}
			delete(k.all, p)
		case !had:
			c.Kind = cluster.Restored
			k.all[p] = found
		default:
			k.all[p] = found
			late := (old.deadline == 0) != (found.deadline == 0) || max(old.deadline-found.deadline, found.deadline-old.deadline) > deadlineSlack
			same := old.kind == found.kind && old.text == found.text && !(late && k.blind != "")
			if same || old.doubt != "" || found.doubt != "" {
				continue
			}
			c.Kind = cluster.Restored
		}
		changes = append(changes, c)
	}
	k.blind = ""
	return changes
}

// compare takes the snapshot whose line has come.
func (g *group) compare(s snapshot, at time.Time) {
	if changes := g.keys.compare(s); len(changes) > 0 || g.gap != "" {
		g.deliver(cluster.Executed{At: at, Changes: changes})
	}
}
