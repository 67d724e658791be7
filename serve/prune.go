package serve

import (
	"fmt"
	"slices"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
)

// Prune selects entries of a store for deletion: those that meet all conditions.
type Prune struct {
	OlderThan  time.Duration     // age since the beginning; 0: any
	LargerThan int64             // bytes on disk; 0: any
	Verdicts   []checker.Verdict // empty: any verdict, or none
	Keep       int               // number of newest entries that always stay
	Labelled   bool              // also select entries with a label
}

// Pruned lists the entries of a store that a rule selects, the oldest first, with their sizes.
func Pruned(store campaign.Store, p Prune) ([]Entry, error) {
	s, err := open(store)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all, err := s.entries()
	if err != nil {
		return nil, err
	}
	var out []Entry
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

// Delete deletes an entry of a store. It fails if the entry is a run that may be in progress.
func Delete(store campaign.Store, e Entry) error {
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
