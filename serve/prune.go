package serve

import (
	"fmt"
	"slices"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/reports"
)

// Prune says which entries of a store are to go: those of which all of this is true.
type Prune struct {
	OlderThan  time.Duration     // since they began; 0: of any age
	LargerThan int64             // bytes on disk; 0: of any size
	Verdicts   []checker.Verdict // empty: any, or none
	Keep       int               // so many of the newest stay, whatever they are
	Labelled   bool              // those that somebody gave a label, too
}

// Pruned lists the entries of a store that a rule selects, the oldest first, with their sizes.
func Pruned(store campaign.Store, p Prune) ([]reports.StoreEntry, error) {
	s, err := open(store)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all, err := s.entries()
	if err != nil {
		return nil, err
	}
	var out []reports.StoreEntry
	for _, e := range all[min(p.Keep, len(all)):] {
		e.Bytes = campaign.SizeOf(s.root.FS(), e.Name)
		switch {
		case e.Label != "" && !p.Labelled,
			time.Since(e.Started) < p.OlderThan,
			e.Bytes < p.LargerThan,
			len(p.Verdicts) > 0 && !slices.Contains(p.Verdicts, e.Verdict):
		default:
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Delete deletes an entry of a store, unless it may be a run that is going on.
func Delete(store campaign.Store, e reports.StoreEntry) error {
	s, err := open(store)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, ok := s.folder(e.Name); !ok {
		return fmt.Errorf("%w: %s is not in the store any more", errRefused, e.Name)
	}
	return s.delete(e)
}
