// Package locktest tests a lock of your own in go test: it runs thousands of short schedules
// of faults against it, in virtual time, over Redis masters in memory. The lock and its
// client library run unmodified, in a testing/synctest bubble.
//
//	func TestMyLock(t *testing.T) {
//		locktest.Explore(t, func(env locktest.Env) (locktest.Lock, error) {
//			l := mylock.New(env.Clients()...)
//			return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
//				lease, err := l.Acquire(ctx, key, env.TTL)
//				if err != nil {
//					return nil, err
//				}
//				return &locktest.Lease{Until: lease.ValidUntil(), Release: lease.Release}, nil
//			}), nil
//		}, locktest.Persistence("always"))
//	}
//
// Explore searches schedules of one scenario, Audit goes through a battery of situations, and Fuzz has
// Go's fuzzer choose the schedules.
//
// A failure tells which property is violated and how it came to that, writes the smallest
// scenario that was found into testdata/lockpick, and the next run of the test replays that
// first.
//
// Everything that the lock waits for has to be in the bubble: connections that it dials
// through Env, time, channels and goroutines of its own. A goroutine that waits for a mutex
// stops virtual time, so a lock must not hold one while it waits for the network.
package locktest
