package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/locks"
	"lockpick/reports/term"
)

// answerWithin limits the dial and each reply of a server that lockpick locks reads.
const answerWithin = 3 * time.Second

// locksFlags holds the flags of lockpick locks.
type locksFlags struct {
	locks.Options
	sentinel string
	asJSON   bool
	redis    redisFlags
}

func locksCommand() *cobra.Command {
	var f locksFlags
	cmd := &cobra.Command{
		Use:   "locks ADDR…",
		Short: "List the locks that a Redis stores now: who holds which, how long, who waits",
		Long: `Locks reads one Redis, the N masters of a lock, or the master of a Sentinel, and lists who holds
which lock, for how long still, on how many of the masters, which keys have no TTL or no owner,
and who waits.

It changes nothing: it sends INFO, TIME, SCAN, TYPE, PTTL, OBJECT IDLETIME, PUBSUB NUMSUB,
SENTINEL and commands that read a value, and needs no more than +@read ~*. It never sends KEYS. It
reads at most --max-keys keys of each server (1000 with each SCAN), 512 bytes of a string
and 100 members. Servers before Redis 7.2 take a read for a use of the key (OBJECT IDLETIME).

A key counts as a lock by its name (lock, mutex, semaphore, lease, leader) or by what it stores:
Redisson's hashes, or, marked with ?, random values with a TTL. --match takes all keys that match.
Lists and sorted sets named after a lock are its queue. With N masters, a lock is held if a
majority stores the same owner; on fewer it is left behind if that is still so a second later.

Redis stores no time of the acquisition. Held is how long no command has touched the key: the
holder has held the lock at least as long. A time that the lock stores itself is shown as such, and
with --ttl the time since a client set the TTL.

Exit codes: 0 all keys were read, 2 some were not, 64 bad usage, 70 an error of the harness.`,
		Example: `  lockpick locks 127.0.0.1:6379
  lockpick locks redis://reader:secret@10.0.0.1:6379/2 --match 'orders:*'
  lockpick locks 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379
  lockpick locks rediss://sentinel-1:26379 rediss://sentinel-2:26379 --sentinel mymaster --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("locks of what? It takes the address of a Redis, as in 127.0.0.1:6379")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.Match, "match", "", "only keys that match this pattern of SCAN, such as 'lock:*', and all of them")
	fs.IntVar(&f.MaxKeys, "max-keys", locks.DefaultMaxKeys, "keys that are read of each server at most")
	fs.DurationVar(&f.TTL, "ttl", 0, "the TTL that your locks set: then it is known when a client acquired or last extended each")
	fs.StringVar(&f.sentinel, "sentinel", "", "the addresses are Sentinels: read the master with this name (needed if they know several)")
	jsonFlag(cmd, &f.asJSON)
	f.redis.add(cmd)
	return cmd
}

func (f *locksFlags) run(cmd *cobra.Command, args []string) error {
	if f.MaxKeys < 1 || f.TTL < 0 {
		return usageError{errors.New("--max-keys and --ttl must be positive")}
	}
	var at []*redis.Options
	for _, text := range args {
		o, err := f.redis.options(text)
		if err != nil {
			return usageError{err}
		}
		if slices.ContainsFunc(at, func(earlier *redis.Options) bool { return earlier.Addr == o.Addr }) {
			return usageError{fmt.Errorf("%s is there twice, and would count as two masters", o.Addr)}
		}
		o.DialTimeout, o.ReadTimeout = answerWithin, answerWithin
		at = append(at, o)
	}
	ctx := cmd.Context()
	logging.Disable() // the client library would print the errors that the result has
	servers, err := locks.Find(ctx, at, f.sentinel)
	if err != nil {
		return usageError{err}
	}
	r := locks.List(ctx, servers, f.Options)
	if f.asJSON {
		err = term.WriteJSON(cmd.OutOrStdout(), r)
	} else {
		err = locks.Terminal(cmd.OutOrStdout(), r, terminalOptions())
	}
	if err == nil && !r.Complete {
		return undecidedError(judge.Conclusion{Verdict: checker.Unknown, Why: unread(r)})
	}
	return err
}

// unread says which server was not read completely, and what helps.
func unread(r *locks.Result) string {
	for _, s := range r.Servers {
		switch {
		case s.Error != "":
			return fmt.Sprintf("%s (%s) could not be read: %s", s.Name, s.Address, s.Error)
		case !s.Complete:
			return fmt.Sprintf("%s (%s) has more than %d keys: narrow them with --match, or raise --max-keys", s.Name, s.Address, s.Keys)
		}
	}
	return ""
}
