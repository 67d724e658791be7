package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

const (
	bareMemory  = 1 << 20  // bytes that a server without keys uses
	fillerSize  = 32 << 10 // bytes of a filler's value
	fillerTime  = 20 * time.Microsecond
	fillerCount = 1 << 15 // number of fillers after which FillMemory assumes that nothing is evicted
)

var filler = strings.Repeat("x", fillerSize)

// used returns approximately how many bytes of memory are in use. It is only correct if there
// is a limit.
func (m *Master) used() int64 { return bareMemory + m.store.Bytes }

// full reports whether the master accepts no more keys.
func (m *Master) full() bool {
	limit := m.cluster.config.MaxMemory
	return limit > 0 && m.used() > limit
}

// evict evicts keys until the rest fits, if the policy allows it. It draws the keys at random,
// whatever the policy would prefer.
func (m *Master) evict() {
	policy := string(m.cluster.config.Eviction)
	all := strings.HasPrefix(policy, "allkeys-")
	if !all && !strings.HasPrefix(policy, "volatile-") {
		return
	}
	names := m.store.Names()
	if !all {
		names = slices.DeleteFunc(names, func(key string) bool {
			v, _ := m.store.Get(key, math.MinInt64)
			return v.Expires == keyspace.Never
		})
	}
	for m.full() && len(names) > 0 {
		i := m.world.Intn(len(names), world.WhatEvict)
		m.store.Drop(names[i], cluster.Evicted)
		names = slices.Delete(names, i, i+1)
		m.evicted++
	}
	m.begun = false
}

// FillMemory writes junk, as the real drivers do.
func (m *Master) FillMemory(ctx context.Context, bytes int64) error {
	return m.act(ctx, "fill", signalTime, func() error {
		before := m.evicted
		for written := int64(0); bytes == 0 || written < bytes; written += fillerSize {
			switch {
			case m.state == cluster.Paused:
				return cluster.ErrPaused
			case m.state == cluster.Down:
				return cluster.ErrDown
			case bytes == 0 && m.evicted > before:
				return nil
			case bytes == 0 && (m.cluster.config.MaxMemory == 0 || written > fillerCount*fillerSize):
				return fmt.Errorf("nothing was evicted by %d bytes of junk: set a limit of memory", written)
			}
			m.fillers++
			m.admit()
			if r := m.execute("set", []string{cluster.FillerPrefix + strconv.Itoa(m.fillers), filler}); r.Kind == keyspace.ReplyError {
				return nil // the master's memory is full
			}
			m.pass(fillerTime + m.settle())
		}
		return nil
	})
}

// DrainMemory removes the junk.
func (m *Master) DrainMemory(ctx context.Context) error {
	return m.act(ctx, "drain", signalTime, func() error {
		switch m.state {
		case cluster.Paused:
			return cluster.ErrPaused
		case cluster.Down:
			return cluster.ErrDown
		}
		for _, key := range m.store.Names() {
			if strings.HasPrefix(key, cluster.FillerPrefix) {
				m.store.Drop(key, cluster.Deleted)
			}
		}
		m.settle()
		return nil
	})
}
