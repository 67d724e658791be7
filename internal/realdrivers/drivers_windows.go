package realdrivers

import "lockpick/campaign"

// All returns no drivers.
func All() campaign.Drivers { return campaign.Drivers{} }
