// An example: the spans of a lock, by OpenTelemetry.
//
//	go run . -masters 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003
//
// Each Lock is a span, with an event for each attempt and for each master that did not
// answer; how long the lease was held is a span of its own. Here they are written to
// standard output; a program gives its own tracer provider to Traced.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"lockpick/redlock"
)

// Traced is a lock client whose doings are spans.
type Traced struct {
	*redlock.Client
	tracer trace.Tracer

	mu   sync.Mutex
	held map[string]trace.Span // by token
}

// New makes a lock client whose spans go to the provider.
func New(masters []*redis.Client, provider trace.TracerProvider, opts ...redlock.Option) (*Traced, error) {
	t := &Traced{tracer: provider.Tracer("lockpick/redlock"), held: map[string]trace.Span{}}
	c, err := redlock.New(masters, append(opts, redlock.WithHooks(t.hooks(nil)))...)
	t.Client = c
	return t, err
}

// hooks add events to a span, and end the span of a lease with it. They are called
// synchronously, so they do no more than that.
func (t *Traced) hooks(span trace.Span) redlock.Hooks {
	h := redlock.Hooks{
		Extended: func(e redlock.Extension) {
			if held := t.of(e.Token, false); held != nil {
				held.AddEvent("extension", trace.WithAttributes(attribute.Int("number", e.Number), failure(e.Err)))
			}
		},
		Ended: func(l *redlock.Lease, cause error) {
			if held := t.of(l.Token(), true); held != nil {
				held.SetAttributes(attribute.String("redlock.end", cause.Error()))
				held.End()
			}
		},
	}
	if span == nil {
		return h
	}
	h.Vote = func(v redlock.Vote) {
		if v.Err != nil {
			span.AddEvent("no answer", trace.WithAttributes(attribute.String("master", v.Name), attribute.String("command", string(v.Purpose)),
				attribute.Int64("took_us", v.Took.Microseconds()), failure(v.Err)))
		}
	}
	h.Attempt = func(a redlock.Attempt) {
		yes := 0
		for _, v := range a.Votes {
			if v.Yes {
				yes++
			}
		}
		span.AddEvent("attempt", trace.WithAttributes(attribute.Int("number", a.Number), attribute.Int("yes", yes),
			attribute.Int64("elapsed_us", a.Elapsed.Microseconds()), failure(a.Err)))
	}
	return h
}

func (t *Traced) of(token string, over bool) trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	span := t.held[token]
	if over {
		delete(t.held, token)
	}
	return span
}

func failure(err error) attribute.KeyValue {
	if err == nil {
		return attribute.String("error", "")
	}
	return attribute.String("error", err.Error())
}

// Lock is redlock's, in a span.
func (t *Traced) Lock(ctx context.Context, key string, opts ...redlock.CallOption) (*redlock.Lease, error) {
	ctx, span := t.tracer.Start(ctx, "redlock.Lock", trace.WithAttributes(attribute.String("redlock.key", key)))
	defer span.End()
	lease, err := t.Client.Lock(ctx, key, append(opts, redlock.WithHooks(t.hooks(span)))...)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, "not locked")
		return nil, err
	}
	_, held := t.tracer.Start(ctx, "redlock.hold", trace.WithAttributes(attribute.String("redlock.key", key), attribute.Int64("redlock.fence", lease.Fence())))
	t.mu.Lock()
	t.held[lease.Token()] = held
	t.mu.Unlock()
	if lease.Context().Err() != nil { // it was over before its span was there
		if held := t.of(lease.Token(), true); held != nil {
			held.End()
		}
	}
	return lease, nil
}

func main() {
	addrs := flag.String("masters", "127.0.0.1:6379", "addresses of the Redis masters")
	flag.Parse()
	if err := run(strings.Split(*addrs, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addrs []string) error {
	exporter, err := stdouttrace.New(stdouttrace.WithPrettyPrint())
	if err != nil {
		return err
	}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	defer provider.Shutdown(context.Background())

	var masters []*redis.Client
	for _, a := range addrs {
		c := redis.NewClient(&redis.Options{Addr: a})
		defer c.Close()
		masters = append(masters, c)
	}
	locks, err := New(masters, provider)
	if err != nil {
		return err
	}
	defer locks.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lease, err := locks.Lock(ctx, "invoice-17")
	if err != nil {
		return err
	}
	if lease, err = lease.Extend(ctx); err != nil {
		return err
	}
	return lease.Unlock(ctx)
}
