package reduce_test

import _ "lockpick/internal/realdrivers" // for the tests on real masters
