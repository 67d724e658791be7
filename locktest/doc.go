// Package locktest tests your own lock in go test: it runs thousands of short schedules of faults against it,
// in virtual time, over Redis masters in memory. The lock and its client library run unmodified, in a
// testing/synctest bubble.
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
// Explore searches schedules of one scenario, Audit goes through a battery of situations, and Fuzz lets Go's
// fuzzer choose the schedules.
//
// A failure names the violated property and explains the violation. It writes the smallest scenario found
// into testdata/lockpick, and the next run of the test replays that scenario first.
//
// Everything that the lock waits for must be in the bubble: connections that it dials through Env, time,
// channels and its own goroutines. A goroutine that waits for a mutex stops virtual time, so a lock must not
// hold a mutex while it waits for the network.
package locktest
