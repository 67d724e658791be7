package transport

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// go-redis panics on some replies, for example on a string that announces 2^63-1 bytes. Such a
// panic must not end the program: it is an error of that master (docs/upstream.md). The hooks of
// the user's client run in the same call, so a panic of theirs is an error of the master, too.

// panicError is a panic of go-redis.
type panicError struct{ value any }

func (e *panicError) Error() string {
	return fmt.Sprintf("go-redis panicked, probably because of the master's reply: %v", e.value)
}

// asPanicError is deferred, and replaces a panic by an error.
func asPanicError(err *error) {
	if value := recover(); value != nil {
		*err = &panicError{value}
	}
}

// isPanic reports whether an error is a panic of go-redis.
func isPanic(err error) bool {
	var p *panicError
	return errors.As(err, &p)
}

// execute executes a pipeline. Commands to which no reply was read before a panic have neither a
// reply nor an error.
func execute(ctx context.Context, pipe redis.Pipeliner) (err error) {
	defer asPanicError(&err)
	_, err = pipe.Exec(ctx)
	return err
}
