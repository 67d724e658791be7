package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

const release = `for i, key in ipairs(KEYS) do
	if redis.call("get", key) == ARGV[i] then redis.call("del", key) end
end
return 1`

// floor returns how many pairs per second the masters can execute: SET NX PX and a release
// for each, in large pipelines that are encoded in advance, on one connection per master.
func floor(addrs []string, d time.Duration) (float64, error) {
	const batch = 256
	var request bytes.Buffer
	write := func(words ...string) {
		fmt.Fprintf(&request, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	token := strings.Repeat("0", 40)
	script := []string{"eval", release, fmt.Sprint(batch)}
	for k := range batch {
		key := fmt.Sprintf("k%d", k)
		write("set", key, token, "nx", "px", "10000")
		script = append(script, key)
	}
	for range batch {
		script = append(script, token)
	}
	write(script...)

	var wg sync.WaitGroup
	done, errs := make([]int, len(addrs)), make([]error, len(addrs))
	begin := time.Now()
	for i, addr := range addrs {
		wg.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			r := bufio.NewReaderSize(c, 1<<16)
			for time.Since(begin) < d {
				if _, err := c.Write(request.Bytes()); err != nil {
					errs[i] = err
					return
				}
				for n := range batch + 1 {
					line, err := r.ReadSlice('\n')
					if err == nil && (n < batch && line[0] != '+' || n == batch && line[0] != ':') {
						err = fmt.Errorf("the master replied %q", line)
					}
					if err != nil {
						errs[i] = err
						return
					}
				}
				done[i] += batch
			}
		})
	}
	wg.Wait()
	least := done[0]
	for i := range done {
		if errs[i] != nil {
			return 0, errs[i]
		}
		least = min(least, done[i])
	}
	return float64(least) / time.Since(begin).Seconds(), nil
}
