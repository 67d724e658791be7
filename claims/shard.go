package claims

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/search"
)

// ShardKind is the kind of a job whose shards verify claims.
const ShardKind = "claims"

// Sharded is a shard's result of one claim.
type Sharded struct {
	ClaimResult
	search.ShardFolder
}

// Compared returns the result without what differs between two verifications of the same code.
func (s Sharded) Compared() any {
	return (&Result{Claims: []ClaimResult{s.ClaimResult}}).Baseline().Claims[0]
}

// EachRun visits the runs of all findings.
func (s Sharded) EachRun(visit func(run, command *string)) {
	s.each(func(_ string, f *PropertyResult) { visit(&f.Run, nil) })
}

// NewPart returns an empty part.
func NewPart(claims []Claim, opt Options, s search.Shard) (*search.Part[Sharded], error) {
	hash, err := fingerprint(claims)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range claims {
		ids = append(ids, claims[i].ID)
	}
	return search.NewPartOf[Sharded](ShardKind, &opt.JobOptions, map[string]string{"catalogue": hash}, ids, s)
}

// fingerprint returns a hash of the texts, scenarios and expectations of claims.
func fingerprint(claims []Claim) (string, error) {
	h := sha256.New()
	add := func(s *scenario.Scenario, expect []Expect) error {
		text, err := s.YAML()
		if err != nil {
			return err
		}
		wants, err := json.Marshal(expect)
		h.Write(append(text, wants...))
		return err
	}
	for i := range claims {
		c := &claims[i]
		fmt.Fprintf(h, "%q", []string{c.ID, c.Slug, c.Claim})
		for j := range c.Cases {
			k := &c.Cases[j]
			if err := add(&k.Scenario, k.Expect); err != nil {
				return "", err
			}
			if k.Twin == nil {
				continue
			}
			if err := add(&k.Twin.Scenario, nil); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// Shard verifies the claims that a shard has left, and adds the result of each to its part.
func Shard(ctx context.Context, claims []Claim, opt Options, s search.Shard, p *search.Part[Sharded]) error {
	left := p.Left(s)
	mine := slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return !slices.Contains(left, c.ID) })
	if len(mine) == 0 {
		return nil
	}
	var mu sync.Mutex
	var failed error
	done := opt.Done
	opt.Done = func(c *ClaimResult, folder search.ShardFolder) {
		if done != nil {
			done(c, folder)
		}
		if c.Outcome == Undecided && ctx.Err() != nil {
			return // it remains to be done
		}
		mu.Lock()
		defer mu.Unlock()
		failed = cmp.Or(failed, p.Add(c.ID, Sharded{*c, folder}))
	}
	_, err := Verify(ctx, mine, opt)
	return cmp.Or(err, failed)
}

// Merged joins the results in parts into one, in a new folder of the store; elsewhere is the number of findings whose evidence
// is on other machines. Claims whose shard is missing are undecided.
func Merged(p *search.Part[Sharded], claims []Claim, store campaign.Store) (r *Result, elsewhere int, err error) {
	head, units, elsewhere, err := search.Collect(p, store, "claims-"+p.Of["driver"], func(id string) (Sharded, error) {
		i := slices.IndexFunc(claims, func(c Claim) bool { return c.ID == id })
		if i < 0 {
			return Sharded{}, fmt.Errorf("%w: claim %s is in none of the catalogues: name its catalogue", search.ErrParts, id)
		}
		return Sharded{ClaimResult: claims[i].lacking()}, nil
	})
	if err != nil {
		return nil, 0, err
	}
	r = &Result{JobResult: head}
	for _, u := range units {
		r.Claims = append(r.Claims, u.ClaimResult)
	}
	return r, elsewhere, search.WriteResult(filepath.Join(r.Folder, ResultFile), r)
}

// lacking returns the result of a claim that no shard has verified.
func (c *Claim) lacking() ClaimResult {
	r := ClaimResult{ID: c.ID, Slug: c.Slug, Claim: c.Claim, Group: c.Group, Bug: c.Bug, Outcome: Undecided}
	for i := range c.Cases {
		k := &c.Cases[i]
		x := CaseResult{Name: k.Name, Shows: k.Shows, Lock: k.Scenario.Lock}
		for _, e := range k.Expect {
			x.Findings = append(x.Findings, PropertyResult{
				Property: e.Property, Level: e.Level(), Expected: e.Verdict, Found: checker.Unknown, Outcome: Undecided, Why: "its shard is missing",
			})
		}
		r.Cases = append(r.Cases, x)
	}
	return r
}
