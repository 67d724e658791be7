package process

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

const (
	fillerSize  = 32 << 10 // size of a filler's value, in bytes
	fillerBatch = 32       // fillers per round trip

	fillTimeout = 20 * time.Second // of a round trip: a full master evicts as much as it stores
)

// reach returns a client for the master, which must be up.
func (m *master) reach() (*redis.Client, error) {
	s := m.now()
	client := s.inspection()
	switch state := s.State(); {
	case state == cluster.Paused:
		return nil, cluster.ErrPaused
	case state == cluster.Down || client == nil:
		return nil, cluster.ErrDown
	}
	return client, nil
}

func (m *master) FillMemory(ctx context.Context, bytes int64) error {
	return m.act(ctx, "fill", func(ctx context.Context) error {
		client, err := m.reach()
		if err != nil {
			return err
		}
		client = client.WithTimeout(fillTimeout)
		junk := strings.Repeat("x", fillerSize)
		before, err := evicted(ctx, client)
		if err != nil {
			return err
		}
		for written := int64(0); bytes == 0 || written < bytes; {
			n := fillerBatch
			if bytes > 0 {
				n = min(n, int((bytes-written+fillerSize-1)/fillerSize))
			}
			replies := make([]*redis.StatusCmd, n)
			client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range replies {
					m.fill++
					replies[i] = p.Set(ctx, cluster.FillerPrefix+strconv.Itoa(m.fill), junk, 0)
				}
				return nil
			}) // the loop below checks each reply
			for _, r := range replies {
				switch err := r.Err(); {
				case redis.HasErrorPrefix(err, "OOM"):
					return nil // the master's memory is full
				case err != nil:
					return fmt.Errorf("SET %d bytes of junk: %w", fillerSize, err)
				}
				written += fillerSize
			}
			if bytes > 0 {
				continue
			}
			if now, err := evicted(ctx, client); err != nil || now > before {
				return err
			}
			if written > maxFill {
				return fmt.Errorf("nothing was evicted by %d bytes of junk: set a limit of memory", written)
			}
		}
		return nil
	})
}

// maxFill limits the bytes of a FillMemory that evicts nothing.
const maxFill = 1 << 30

// evicted returns how many keys a server has evicted since its start.
func evicted(ctx context.Context, c *redis.Client) (int64, error) {
	text, err := c.Info(ctx, "stats").Result()
	if err != nil {
		return 0, fmt.Errorf("INFO stats: %w", err)
	}
	return strconv.ParseInt(resp.Info(text)["evicted_keys"], 10, 64)
}

func (m *master) DrainMemory(ctx context.Context) error {
	return m.act(ctx, "drain", func(ctx context.Context) error {
		client, err := m.reach()
		if err != nil {
			return err
		}
		for cursor := uint64(0); ; {
			keys, next, err := client.Scan(ctx, cursor, cluster.FillerPrefix+"*", 1000).Result()
			if err != nil {
				return fmt.Errorf("SCAN %s*: %w", cluster.FillerPrefix, err)
			}
			if len(keys) > 0 {
				if err := client.Del(ctx, keys...).Err(); err != nil {
					return fmt.Errorf("DEL %d fillers: %w", len(keys), err)
				}
			}
			if next == 0 {
				return nil
			}
			cursor = next
		}
	})
}
