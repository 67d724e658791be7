package judge

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Interruptible calls a function that judges, and returns what it returns, or a HarnessError with the cause of ctx
// as soon as that ends: reading and judging millions of lines takes minutes, and much of that is spent in sorts and in
// libraries that ask no context. The function then goes on by itself and its result is dropped, so the program should
// end.
func Interruptible[H any](ctx context.Context, f func() (H, *Result, error)) (h H, r *Result, err error) {
	type outcome struct {
		h     H
		r     *Result
		err   error
		panic any
		stack []byte
	}
	if ctx.Err() != nil {
		return h, nil, &HarnessError{context.Cause(ctx)}
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if o.panic = recover(); o.panic != nil {
				o.stack = debug.Stack()
			}
			done <- o
		}()
		o.h, o.r, o.err = f()
	}()
	select {
	case o := <-done:
		if o.panic != nil {
			panic(fmt.Sprintf("%v\n%s", o.panic, o.stack))
		}
		return o.h, o.r, o.err
	case <-ctx.Done():
		return h, nil, &HarnessError{context.Cause(ctx)}
	}
}
