// An example: the numbers of a lock, for Prometheus.
//
//	go run . -masters 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 -listen 127.0.0.1:2112
//	curl -s 127.0.0.1:2112/metrics | grep redlock
//
// What to watch: redlock_votes_total with result="error" of one master (it is down, or
// suspect), redlock_ended_total with any cause but "released" (the work takes longer than
// the lease, or masters forget), and how long attempts take against the TTL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// Hooks count what a lock does. Keys are not a label: there may be any number of them.
func Hooks(r prometheus.Registerer) redlock.Hooks {
	votes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "redlock_votes_total", Help: "Replies of masters, by command and result (yes, no, error)."}, []string{"master", "command", "result"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "redlock_vote_seconds", Help: "How long a master took to reply.", Buckets: prometheus.ExponentialBuckets(50e-6, 2, 14)}, []string{"master"})
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "redlock_attempts_total", Help: "Attempts to acquire, by result."}, []string{"result"})
	elapsed := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "redlock_attempt_seconds", Help: "How long it took until the votes had decided.", Buckets: prometheus.ExponentialBuckets(100e-6, 2, 14)})
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "redlock_ended_total", Help: "Leases that are over, by cause (released, expired, lost)."}, []string{"cause"})
	r.MustRegister(votes, took, attempts, elapsed, ended)
	return redlock.Hooks{
		Vote: func(v redlock.Vote) {
			result := "no"
			switch {
			case v.Err != nil:
				result = "error"
			case v.Yes:
				result = "yes"
			}
			votes.WithLabelValues(v.Name, string(v.Purpose), result).Inc()
			if v.Err == nil {
				took.WithLabelValues(v.Name).Observe(v.Took.Seconds())
			}
		},
		Attempt: func(a redlock.Attempt) {
			attempts.WithLabelValues(reason(a.Err)).Inc()
			elapsed.Observe(a.Elapsed.Seconds())
		},
		Ended: func(_ *redlock.Lease, cause error) { ended.WithLabelValues(reason(cause)).Inc() },
	}
}

func reason(err error) string {
	for name, kind := range map[string]error{
		"taken": redlock.ErrTaken, "no quorum": redlock.ErrNoQuorum, "expired": redlock.ErrExpired, "lost": redlock.ErrLost, "released": redlock.ErrReleased,
	} {
		if errors.Is(err, kind) {
			return name
		}
	}
	if err == nil {
		return "acquired"
	}
	return "other"
}

func main() {
	addrs := flag.String("masters", "127.0.0.1:6379", "addresses of the Redis masters")
	listen := flag.String("listen", "127.0.0.1:2112", "where to serve /metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*addrs, ","), *listen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addrs []string, listen string) error {
	registry := prometheus.NewRegistry()
	var masters []*redis.Client
	for _, a := range addrs {
		c := redis.NewClient(&redis.Options{Addr: a})
		defer c.Close()
		masters = append(masters, c)
	}
	locks, err := redlock.New(masters, redlock.WithHooks(Hooks(registry)))
	if err != nil {
		return err
	}
	defer locks.Close()

	server := &http.Server{Addr: listen, Handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	defer server.Close()
	for {
		err := locks.Do(ctx, "invoice-17", func(context.Context) error { return nil })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}
