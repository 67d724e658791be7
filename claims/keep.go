package claims

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"lockpick/campaign"
	"lockpick/checker"
)

// keeps reports whether a finding's run is kept.
func (v *verifier) keeps(f *Finding) bool {
	switch v.opt.Keep {
	case KeepAll:
		return true
	case KeepViolated:
		return f.Found == checker.Violated || f.Outcome != Expected
	case KeepUnexpected:
		return f.Outcome != Expected
	}
	return false
}

// discard removes the runs on real masters that no finding refers to, unless Keep is KeepAll.
func (v *verifier) discard(c *claimRun) error {
	if v.opt.Keep == KeepAll {
		return nil
	}
	var errs []error
	for _, s := range c.series {
		for _, t := range s.trials {
			if t != nil && t.run != "" && !t.proof {
				errs = append(errs, os.RemoveAll(filepath.Join(v.evidence.Dir, t.run)))
			}
		}
	}
	return errors.Join(errs...)
}

// keep runs a simulated schedule again and stores it as a run with its report.
func (v *verifier) keep(ctx context.Context, s *series, t *trial) error {
	if t.run != "" || ctx.Err() != nil {
		return nil
	}
	seeded := s.base
	seeded.Seed = t.seed
	dir, h, r, err := campaign.Run(ctx, seeded, campaign.Options{Store: v.evidence})
	if err != nil {
		return err
	}
	t.run = filepath.Base(dir)
	return v.report(dir, h, r)
}
