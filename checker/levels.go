package checker

import "slices"

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
