package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// compareVersions compares this version of the lock with another one, whose bench is the program
// other. Both take turns, on the same masters. The links' proxies run in this process, so that
// their CPU time does not count as the lock's.
func (b *bench) compareVersions(other string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Println("| link | goroutines | pairs/s, other | pairs/s, this | this/other | range | CPU/pair, other | CPU/pair, this | this/other |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, kind := range linkKinds {
		addrs, stop, err := b.link(kind)
		if err != nil {
			return err
		}
		for _, g := range []int{1, 16, 128, 1024} {
			var rate, cpu [2][]float64
			for range b.rounds {
				for i, program := range []string{other, self} {
					if err := flush(b.masters); err != nil {
						return err
					}
					args := append([]string{"-time", b.d.String(), "-worker", fmt.Sprintf("version %d %v", g, kind.tls)}, addrs...)
					out, err := exec.Command(program, args...).Output()
					if err != nil {
						return fmt.Errorf("%s: %w", program, err)
					}
					var r, c float64
					if _, err := fmt.Sscan(string(out), &r, &c); err != nil {
						return fmt.Errorf("%s printed %q: %w", program, out, err)
					}
					rate[i], cpu[i] = append(rate[i], r), append(cpu[i], c)
				}
			}
			faster, dearer := ratios(rate), ratios(cpu)
			fmt.Printf("| %s | %d | %.0f | %.0f | %.2f× | %.2f–%.2f | %.1f µs | %.1f µs | %.1f× |\n", kind.name, g, median(rate[0]), median(rate[1]),
				median(faster), slices.Min(faster), slices.Max(faster), median(cpu[0]), median(cpu[1]), median(dearer))
		}
		stop()
	}
	return nil
}

// ratios divides this version's figures by the other's, for each round.
func ratios(x [2][]float64) (all []float64) {
	for i := range x[0] {
		all = append(all, x[1][i]/x[0][i])
	}
	return all
}

// version measures the version of this process: it prints pairs/s, and µs of CPU per pair.
func version(goroutines int, useTLS bool, addrs []string, d time.Duration) error {
	var clients []*redis.Client
	for _, a := range addrs {
		o := &redis.Options{Addr: a}
		if useTLS { // the cost of TLS is what this measures
			o.TLSConfig = &tls.Config{InsecureSkipVerify: true}
		}
		clients = append(clients, redis.NewClient(o))
	}
	defer hangUp(clients)
	c, err := redlock.New(clients, redlock.WithTTL(ttl), redlock.WithTimeout(ttl/20))
	if err != nil {
		return err
	}
	defer c.Close()
	locks := redlockLocker{Client: c}
	load(locks, goroutines, d/5, false)
	o := load(locks, goroutines, d, false)
	fmt.Println(o.rate(), float64(o.cpu)/1000)
	return nil
}

// versionWorker reads the request of compareVersions to a process: "version <goroutines> <TLS>".
func versionWorker(what string, addrs []string, d time.Duration) (bool, error) {
	var g int
	var useTLS bool
	if _, err := fmt.Sscanf(strings.TrimSpace(what), "version %d %t", &g, &useTLS); err != nil {
		return false, nil
	}
	return true, version(g, useTLS, addrs, d)
}
