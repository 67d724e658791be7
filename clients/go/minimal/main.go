// Command minimal is a complete client: for bsm/redislock, on the first master.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"os"
	"time"
)

func main() {
	client, lock := new(redislock.Client), new(redislock.Lock)
	var r struct {
		Op, Key     string
		Masters     []string
		TTL, Within time.Duration // in nanoseconds
	}
	for in := json.NewDecoder(os.Stdin); in.Decode(&r) == nil && r.Op != "exit"; {
		answer, err := "ok", error(nil)
		ctx, cancel := context.WithTimeout(context.Background(), r.Within)
		switch r.Op {
		case "init":
			client = redislock.New(redis.NewClient(&redis.Options{Addr: r.Masters[0]}))
		case "acquire": // fields that a request leaves out keep their values: the TTL is that of init
			lock, err = client.Obtain(ctx, r.Key, r.TTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)})
		case "release":
			err = lock.Release(ctx)
		}
		cancel()
		if err == redislock.ErrNotObtained || err == redislock.ErrLockNotHeld {
			answer = "fail"
		} else if err != nil { // a timeout, a lost connection: it may have happened
			answer = "info"
		}
		fmt.Printf("{\"type\":%q,\"error\":%q,\"masters\":1}\n", answer, fmt.Sprint(err))
	}
}
