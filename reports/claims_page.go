package reports

import (
	"io"

	"lockpick/campaign"
)

// ClaimsPage is written below.
func ClaimsPage(w io.Writer, dir string, all []campaign.Claim, r *campaign.ClaimsResult, others map[string]*campaign.ClaimsResult) error {
	return nil
}
