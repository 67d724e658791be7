//go:build real

package campaign_test

import (
	"lockpick/campaign"
	"lockpick/internal/realdrivers"
)

func init() { campaign.SetTestDrivers(realdrivers.All()) }
