package judge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lockpick/history"
	"lockpick/internal/waittest"
)

// TestJudgingIsInterrupted: whoever waits for a judge that is still at work gets the cause of the interrupt.
func TestJudgingIsInterrupted(t *testing.T) {
	told := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	working, release := make(chan struct{}), make(chan struct{})
	ended := make(chan struct{})
	waittest.Returns("the judge that is interrupted", func() {
		_, r, err := Interruptible(ctx, func() (*history.History, *Result, error) {
			defer close(ended)
			close(working)
			cancel(told)
			<-release
			return nil, &Result{}, nil
		})
		if !errors.Is(err, told) || r != nil {
			t.Errorf("%v, %+v", err, r)
		}
	})
	<-working
	close(release)
	<-ended
}

// TestAPanicOfTheJudgeIsNotLost: the caller panics with the judge's stack.
func TestAPanicOfTheJudgeIsNotLost(t *testing.T) {
	defer func() {
		if what, _ := recover().(string); !strings.Contains(what, "it is broken") || !strings.Contains(what, "interrupt_test.go") {
			t.Errorf("the panic is %q", what)
		}
	}()
	_, _, _ = Interruptible(t.Context(), func() (*history.History, *Result, error) { panic("it is broken") })
	t.Error("no panic")
}
