package main

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const release = `for i, key in ipairs(KEYS) do
	if redis.call("get", key) == ARGV[i] then redis.call("del", key) end
end`

// floor is how many pairs the masters can do: SET NX PX and a release for each, 512 in
// a pipeline, the pipelines ready made, one connection per master.
func floor(addrs []string, d time.Duration) (float64, error) {
	const batch = 512
	ctx := context.Background()
	clients := dial(addrs)
	defer hangUp(clients)
	var wg sync.WaitGroup
	done := make([]int, len(clients))
	errs := make([]error, len(clients))
	begin := time.Now()
	for i, c := range clients {
		wg.Go(func() {
			sha, err := c.ScriptLoad(ctx, release).Result()
			var keys, tokens []any
			for k := range batch {
				keys = append(keys, "floor"+string(rune('a'+k%26))+string(rune('a'+k/26)))
				tokens = append(tokens, "0123456789012345678901234567890123456789")
			}
			evalsha := append(append([]any{"evalsha", sha, batch}, keys...), tokens...)
			for ; err == nil && time.Since(begin) < d; done[i] += batch {
				_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
					for k := range keys {
						p.Do(ctx, "set", keys[k], tokens[k], "nx", "px", 10000)
					}
					p.Do(ctx, evalsha...)
					return nil
				})
				if err == redis.Nil {
					err = nil // the script returns nothing
				}
			}
			errs[i] = err
		})
	}
	wg.Wait()
	least := done[0]
	for i := range done {
		if errs[i] != nil {
			return 0, errs[i]
		}
		least = min(least, done[i])
	}
	return float64(least) / time.Since(begin).Seconds(), nil
}
