package transport

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/protocol"
)

// replyType says which replies a command can have. Any other reply is an error of the master: it
// belongs to another command, or does not come from Redis.
type replyType uint8

const (
	anyReply    replyType = iota // OK, nil or an integer: a command of a lock that follows other rules
	statusOrNil                  // OK or nil: SET
	count                        // an integer that is not negative
	yesOrNo                      // 0 or 1
)

// replyTypeOf returns which replies a command can have. Locks that follow other rules have other
// scripts and commands, whose replies are not known.
func replyTypeOf(c *protocol.Command) replyType {
	switch c.Script {
	case nil:
		switch {
		case c.Short():
			return statusOrNil
		case len(c.Args) > 0 && c.Args[0] == "del":
			return count
		}
	case protocol.SetAndCount:
		return count
	case protocol.CompareAndDelete, protocol.CompareDeleteAndPublish, protocol.CompareAndExpire, protocol.Compare, protocol.CompareAndRaise:
		return yesOrNo
	}
	return anyReply
}

// result returns a reply as a number: OK is 1, nil is 0. A command has neither a reply nor
// an error if its connection was refused, or go-redis panicked: then the error is refused.
func result(cmd *redis.StatusCmd, of replyType, refused error) (int64, error) {
	text, err := cmd.Result()
	switch {
	case errors.Is(err, redis.Nil) && of <= statusOrNil:
		return 0, nil
	case errors.Is(err, redis.Nil):
		return 0, errors.New("unexpected reply nil")
	case err != nil:
		return 0, err
	case text == "" && refused != nil:
		return 0, refused
	case text == "OK" && of <= statusOrNil:
		return 1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(n, 10) != text,
		of == statusOrNil, of == yesOrNo && n > 1, of != anyReply && n < 0:
		return 0, fmt.Errorf("unexpected reply %.100q", text)
	}
	return n, nil
}
