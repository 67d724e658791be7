package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// master is a redis-server process.
type master struct {
	addr   string
	cmd    *exec.Cmd
	client *redis.Client // reads the master's state
}

func startMasters(n int) ([]*master, error) {
	var all []*master
	for range n {
		m, err := startMaster()
		if err != nil {
			stopMasters(all)
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func startMaster() (*master, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		return nil, err
	}
	addr := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		return nil, err
	}
	m := &master{addr: addr.String()}
	m.cmd = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", fmt.Sprint(addr.Port), "--save", "", "--appendonly", "no", "--daemonize", "no")
	m.cmd.SysProcAttr = dieWithParent()
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server (install it, or put it on the PATH): %w", err)
	}
	m.client = redis.NewClient(&redis.Options{Addr: m.addr})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for m.client.Ping(ctx).Err() != nil {
		if ctx.Err() != nil {
			stopMasters([]*master{m})
			return nil, fmt.Errorf("the redis-server at %s does not answer", m.addr)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return m, nil
}

func stopMasters(all []*master) {
	for _, m := range all {
		_ = m.client.Close()
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
	}
}

func (m *master) signal(s syscall.Signal) error { return m.cmd.Process.Signal(s) }

// info reads a number from the reply to INFO.
func (m *master) info(section, field string) (n int64, err error) {
	text, err := m.client.Info(context.Background(), section).Result()
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			_, err := fmt.Sscan(value, &n)
			return n, err
		}
	}
	return 0, fmt.Errorf("INFO %s says nothing about %s", section, field)
}

// keys counts the keys of all masters together.
func keys(all []*master) (n int64, err error) {
	for _, m := range all {
		k, err := m.client.DBSize(context.Background()).Result()
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

func flush(all []*master) error {
	for _, m := range all {
		if err := m.client.FlushAll(context.Background()).Err(); err != nil {
			return err
		}
	}
	return nil
}
