//go:build real

package campaign_test

import _ "lockpick/internal/realdrivers" // for the tests on real masters
