package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// newLocks stands for redlock.New with go-redis clients for three masters, as in the
// example of New. These masters live in memory, so that the examples always run.
func newLocks(opts ...redlock.Option) *redlock.Client { return locksOn(newFakeMasters(3), opts...) }

func locksOn(m protocol.Masters, opts ...redlock.Option) *redlock.Client {
	patient := redlock.WithTimeout(time.Second) // this machine may be busy
	locks, err := redlock.NewWithMasters(m, append([]redlock.Option{patient}, opts...)...)
	if err != nil {
		panic(err)
	}
	return locks
}

func ExampleNew() {
	var masters []*redis.Client
	for _, addr := range []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379", "10.0.0.4:6379", "10.0.0.5:6379"} {
		client := redis.NewClient(&redis.Options{Addr: addr})
		defer client.Close() // after locks
		masters = append(masters, client)
	}
	locks, err := redlock.New(masters, redlock.WithTTL(5*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()
	fmt.Println(locks.Quorum(), "of", len(masters), "masters must agree")
	// Output: 3 of 5 masters must agree
}

func ExampleClient_Lock() {
	locks := newLocks()
	defer locks.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	lease, err := locks.Lock(ctx, "invoice-17") // waits for its turn, 10 s at most
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("locked:", lease.Key())
	// … work, until lease.Context() ends …
	fmt.Println("released:", lease.Unlock(ctx) == nil)
	// Output:
	// locked: invoice-17
	// released: true
}

func ExampleClient_TryLock() {
	locks := newLocks()
	defer locks.Close()
	ctx := context.Background()

	lease, err := locks.TryLock(ctx, "nightly-report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Unlock(ctx)

	_, err = locks.TryLock(ctx, "nightly-report")
	if errors.Is(err, redlock.ErrTaken) {
		fmt.Println("somebody else is at it")
	}
	// Output: somebody else is at it
}

func ExampleClient_Do() {
	locks := newLocks()
	defer locks.Close()

	err := locks.Do(context.Background(), "invoice-17", func(ctx context.Context) error {
		// The lease is extended while this runs. ctx ends when it could not be.
		fmt.Println("working")
		return ctx.Err()
	}, redlock.WithTTL(2*time.Second), redlock.WithMaxHold(time.Minute))
	fmt.Println("error:", err)
	// Output:
	// working
	// error: <nil>
}

func ExampleLease_Extend() {
	locks := newLocks(redlock.WithTTL(time.Second))
	defer locks.Close()
	ctx := context.Background()

	lease, err := locks.Lock(ctx, "invoice-17")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Unlock(ctx)

	longer, err := lease.Extend(ctx)
	switch {
	case err == nil:
		fmt.Println("extended:", longer.Until().After(lease.Until()))
	case errors.Is(err, redlock.ErrNoQuorum):
		fmt.Println("not extended, still valid until", lease.Until())
	default: // ErrExpired, ErrLost, …: stop working
		fmt.Println(err)
	}
	// Output: extended: true
}

func ExampleLease_Context() {
	locks := newLocks(redlock.WithTTL(50 * time.Millisecond))
	defer locks.Close()

	lease, err := locks.Lock(context.Background(), "invoice-17")
	if err != nil {
		fmt.Println(err)
		return
	}
	<-lease.Context().Done() // nobody extends it
	fmt.Println(context.Cause(lease.Context()))
	// Output: redlock: hold "invoice-17": the lease has expired
}

// The resource rejects every write with a lower token than the highest it has seen:
// a client that was stopped in its critical section cannot do harm when it wakes up.
func ExampleWithFencing() {
	locks := newLocks(redlock.WithFencing())
	defer locks.Close()
	ctx := context.Background()

	var highest int64
	write := func(fence int64, text string) {
		if fence < highest {
			fmt.Println("rejected:", text)
			return
		}
		highest = fence
		fmt.Println("written:", text)
	}

	first, err := locks.Lock(ctx, "ledger", redlock.WithTTL(100*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(time.Until(first.Until())) // stopped for too long
	second, err := locks.Lock(ctx, "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Unlock(ctx)
	write(second.Fence(), "by the second holder")
	write(first.Fence(), "by the first one, late")
	// Output:
	// written: by the second holder
	// rejected: by the first one, late
}

func ExampleWithHooks() {
	locks := newLocks(redlock.WithHooks(redlock.Hooks{
		Attempt: func(a redlock.Attempt) { fmt.Println("attempt", a.Number, "on", a.Key, "failed:", a.Err != nil) },
		Ended:   func(l *redlock.Lease, cause error) { fmt.Println("lost:", !errors.Is(cause, redlock.ErrReleased)) },
	}))
	defer locks.Close()
	ctx := context.Background()

	lease, err := locks.Lock(ctx, "invoice-17")
	if err != nil {
		fmt.Println(err)
		return
	}
	lease.Unlock(ctx)
	// Output:
	// attempt 1 on invoice-17 failed: false
	// lost: false
}

func ExampleError() {
	masters := newFakeMasters(3)
	others := locksOn(masters) // in another process
	defer others.Close()
	locks := locksOn(masters, redlock.WithRetryDelay(10*time.Millisecond, 20*time.Millisecond))
	defer locks.Close()
	lease, err := others.Lock(context.Background(), "invoice-17")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Unlock(context.Background())

	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_, err = locks.Lock(ctx, "invoice-17")
	var failure *redlock.Error
	if errors.As(err, &failure) {
		fmt.Println("more than one attempt:", failure.Attempts > 1)
		refusals := 0 // of the masters, in the last attempt
		for _, v := range failure.Votes {
			if !v.Yes && v.Err == nil {
				refusals++
			}
		}
		fmt.Println("refused by a majority:", refusals >= 2)
	}
	fmt.Println("taken:", errors.Is(err, redlock.ErrTaken))
	fmt.Println("the context ended:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// more than one attempt: true
	// refused by a majority: true
	// taken: true
	// the context ended: true
}
