package redlock_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // refused dials are what many of these tests are about
	goleak.VerifyTestMain(m)
}
