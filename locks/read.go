package locks

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockpick/cluster/resp"
)

// batch is the number of keys that one SCAN asks for, and one pipeline reads.
const batch = 1000

// contents is what was read of a server.
type contents struct {
	Server
	client  *redis.Client
	db      int
	now     time.Time // of the server, or of this machine if the user may not run TIME
	cluster bool      // it is a node of a Redis Cluster: other nodes store other keys
	entries map[string]*entry
}

// connect returns a client that does not retry, and whose reads leave the idle time of keys as it is where the
// server can do that (Redis 7.2).
func connect(o *redis.Options) *redis.Client {
	own := *o
	own.PoolSize, own.MaxRetries, own.DialerRetries, own.ContextTimeoutEnabled = 1, -1, 1, true
	own.Protocol, own.DisableIdentity = 2, true
	own.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	own.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		_ = c.Do(ctx, "CLIENT", "NO-TOUCH", "ON").Err() // older servers, and some users, cannot
		return nil
	}
	return redis.NewClient(&own)
}

// read reads a server: at most opt.MaxKeys keys.
func read(ctx context.Context, name string, o *redis.Options, opt Options) *contents {
	c := &contents{Server: Server{Name: name, Address: o.Addr, Blocked: -1}, client: connect(o), db: o.DB, now: time.Now(), entries: map[string]*entry{}}
	c.about(ctx)
	if err := c.scan(ctx, opt); err != nil {
		c.Error = err.Error()
		c.entries = map[string]*entry{}
	}
	return c
}

// about reads what the server says about itself, as far as the user may ask for it.
func (c *contents) about(ctx context.Context) {
	if text, err := c.client.Info(ctx, "server").Result(); err == nil {
		info := resp.Info(text)
		name, version := resp.ServerOf(info)
		c.Server.Server = name + " " + version
		c.cluster = info["redis_mode"] == "cluster"
	}
	if text, err := c.client.Info(ctx, "clients").Result(); err == nil {
		if n, err := strconv.Atoi(resp.Info(text)["blocked_clients"]); err == nil {
			c.Blocked = n
		}
	}
	if now, err := c.client.Time(ctx).Result(); err == nil {
		c.now = now
	}
}

func (c *contents) scan(ctx context.Context, opt Options) error {
	seen := map[string]bool{} // SCAN may return a key twice
	more := false             // there is a key beyond the bound
	for cursor := uint64(0); ; {
		keys, next, err := c.client.Scan(ctx, cursor, opt.Match, batch).Result()
		if err != nil {
			return fmt.Errorf("SCAN: %w", err)
		}
		var fresh []string
		for _, k := range keys {
			switch {
			case seen[k]:
			case len(seen) == opt.MaxKeys:
				more = true
			default:
				seen[k] = true
				fresh = append(fresh, k)
			}
		}
		entries, err := c.keys(ctx, fresh)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if shapeOf(e, opt.Match != "", c.now).owners != nil || e.kind == "list" || e.kind == "zset" {
				c.entries[e.key] = e
			}
		}
		c.Keys = len(seen)
		if cursor = next; cursor == 0 || more {
			c.Complete = !more
			return nil
		}
	}
}

// keys reads what is stored under keys. Those that have expired since are left out.
func (c *contents) keys(ctx context.Context, keys []string) ([]*entry, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	kinds := make([]*redis.StatusCmd, len(keys))
	if _, err := c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			kinds[i] = p.Type(ctx, k)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("TYPE: %w", err)
	}
	type reading struct {
		e     *entry
		idle  *redis.DurationCmd
		left  *redis.DurationCmd
		value func() error // takes the replies
	}
	var all []reading
	c.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			e := &entry{key: k, kind: kinds[i].Val()}
			idle := p.ObjectIdleTime(ctx, k) // before the value: reading it counts as a use of the key
			value := e.ask(ctx, p)
			if value == nil {
				continue
			}
			all = append(all, reading{e, idle, p.PTTL(ctx, k), value})
		}
		return nil
	}) // the error of the first command that failed; the code below checks each
	var entries []*entry
	for _, r := range all {
		left, err := r.left.Result()
		if err != nil {
			return nil, fmt.Errorf("PTTL: %w", err)
		}
		if r.value() != nil || left == -2 { // it has expired, or is of another type now
			continue
		}
		r.e.left, r.e.endless = max(left, 0), left == -1
		if idle := r.idle.Val(); r.idle.Err() == nil && idle > time.Second {
			r.e.idle = idle - time.Second // the server counts whole seconds
		}
		entries = append(entries, r.e)
	}
	return entries, nil
}

// ask sends the commands that read a value, and returns the function that takes the replies; nil: no lock is of this type.
func (e *entry) ask(ctx context.Context, p redis.Pipeliner) func() error {
	switch e.kind {
	case "string":
		n, text := p.StrLen(ctx, e.key), p.GetRange(ctx, e.key, 0, maxValue-1)
		return func() (err error) {
			e.long = n.Val() > maxValue
			e.text, err = text.Result()
			return err
		}
	case "hash":
		n, fields := p.HLen(ctx, e.key), p.HScan(ctx, e.key, 0, "", maxMembers)
		return func() error {
			list, _, err := fields.Result()
			for i := 0; i+1 < len(list); i += 2 {
				e.members = append(e.members, member{name: list[i], value: list[i+1]})
			}
			e.limit(n.Val())
			return err
		}
	case "zset":
		n, members := p.ZCard(ctx, e.key), p.ZRangeWithScores(ctx, e.key, 0, maxMembers-1)
		return func() error {
			list, err := members.Result()
			for _, z := range list {
				e.members = append(e.members, member{name: fmt.Sprint(z.Member), score: z.Score})
			}
			e.limit(n.Val())
			return err
		}
	case "list":
		n, members := p.LLen(ctx, e.key), p.LRange(ctx, e.key, 0, maxMembers-1)
		return func() error { return e.named(n.Val(), members.Result) }
	case "set":
		n, members := p.SCard(ctx, e.key), p.SScan(ctx, e.key, 0, "", maxMembers)
		return func() error {
			return e.named(n.Val(), func() ([]string, error) { list, _, err := members.Result(); return list, err })
		}
	}
	return nil
}

func (e *entry) named(n int64, members func() ([]string, error)) error {
	list, err := members()
	for _, name := range list {
		e.members = append(e.members, member{name: name})
	}
	e.limit(n)
	return err
}

// limit keeps maxMembers members of n.
func (e *entry) limit(n int64) {
	e.members = e.members[:min(len(e.members), maxMembers)]
	e.more = max(0, int(n)-len(e.members))
}

// subscribers returns the number of connections that are subscribed to channels of the locks; nil: not known.
func (c *contents) subscribers(ctx context.Context, keys []string) map[string]int {
	if len(keys) == 0 {
		return map[string]int{}
	}
	found, keyOf := map[string]int{}, map[string]string{}
	for len(keys) > 0 {
		var channels []string
		for _, k := range keys[:min(batch, len(keys))] {
			for _, ch := range channelsOf(k, c.db) {
				channels, keyOf[ch] = append(channels, ch), k
			}
		}
		keys = keys[min(batch, len(keys)):]
		counts, err := c.client.PubSubNumSub(ctx, channels...).Result()
		if err != nil {
			return nil
		}
		for ch, n := range counts {
			found[keyOf[ch]] += int(n)
		}
	}
	return found
}
