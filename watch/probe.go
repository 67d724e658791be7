package watch

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// AskRole returns whether a Redis is a replica, and how many replicas it has. It sends one INFO on a
// connection of its own.
func AskRole(ctx context.Context, o *redis.Options) (Role, error) {
	c := redis.NewClient(single(o))
	defer c.Close()
	text, err := c.Info(ctx, "replication").Result()
	if err != nil {
		return Role{}, fmt.Errorf("ask %s for its role (INFO replication): %w", o.Addr, err)
	}
	r := Role{Known: true}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "role":
			r.Replica = value == "slave"
		case "connected_slaves":
			r.Replicas, _ = strconv.Atoi(value)
		}
	}
	return r, nil
}

// single returns options for a single connection without retries.
func single(o *redis.Options) *redis.Options {
	s := *o
	s.PoolSize, s.MaxRetries, s.DialerRetries, s.ContextTimeoutEnabled = 1, -1, 1, true
	s.DisableIdentity = true
	return &s
}
