package locks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster/resp"
)

// ErrWhichMaster says that Sentinels know several masters, and that none was named.
var ErrWhichMaster = errors.New("the Sentinel knows several masters")

// Find returns the servers to read. If the first address that answers is a Sentinel, that is the one master
// with the name that the Sentinel knows; an empty name stands for its only master. It sends INFO and SENTINEL.
func Find(ctx context.Context, at []*redis.Options, name string) ([]*redis.Options, error) {
	var failed []error
	for _, o := range at {
		master, err := askSentinel(ctx, o, name)
		switch {
		case errors.Is(err, ErrWhichMaster):
			return nil, err
		case err != nil:
			failed = append(failed, err)
		case master != nil:
			return []*redis.Options{master}, nil
		case name == "":
			return at, nil // a server like any other
		default:
			return nil, fmt.Errorf("%s is not a Sentinel", o.Addr)
		}
	}
	if name == "" {
		return at, nil // reading them tells why none answers
	}
	return nil, errors.Join(failed...)
}

// askSentinel returns the master of a Sentinel; nil: the server is none, or does not tell.
func askSentinel(ctx context.Context, o *redis.Options, name string) (*redis.Options, error) {
	own := *o
	own.DB = 0 // a Sentinel has no databases
	c := connect(&own)
	defer c.Close()
	text, err := c.Info(ctx, "server").Result()
	if err != nil && strings.Contains(err.Error(), "without any password") {
		own.Username, own.Password = "", "" // the password is the master's
		c.Close()
		c = connect(&own)
		defer c.Close()
		text, err = c.Info(ctx, "server").Result()
	}
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", o.Addr, err)
	case resp.Info(text)["redis_mode"] != "sentinel":
		return nil, nil
	}
	if name == "" {
		if name, err = onlyMaster(ctx, c); err != nil {
			return nil, err
		}
	}
	address, err := c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name).StringSlice()
	if errors.Is(err, redis.Nil) || err == nil && len(address) != 2 {
		return nil, fmt.Errorf("the Sentinel at %s knows no master %q", o.Addr, name)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the Sentinel at %s for its master: %w", o.Addr, err)
	}
	master := *o
	master.Addr = address[0] + ":" + address[1]
	if strings.Contains(address[0], ":") {
		master.Addr = "[" + address[0] + "]:" + address[1]
	}
	return &master, nil
}

func onlyMaster(ctx context.Context, c *redis.Client) (string, error) {
	list, err := c.Do(ctx, "SENTINEL", "MASTERS").Slice()
	if err != nil {
		return "", fmt.Errorf("ask a Sentinel for its masters: %w", err)
	}
	var names []string
	for _, m := range list {
		fields, _ := m.([]any)
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i] == "name" {
				names = append(names, fmt.Sprint(fields[i+1]))
			}
		}
	}
	if len(names) != 1 {
		return "", fmt.Errorf("%w: name one of them with --sentinel: %s", ErrWhichMaster, strings.Join(names, ", "))
	}
	return names[0], nil
}
