package crew

import (
	"os"
	"strconv"
	"strings"
)

// meter returns a function for Crew.busy, or nil if the system does not tell (proc_stat(5): the first line has the times of
// all processors in user, nice, system, idle, iowait …).
func meter() func() float64 {
	var usedBefore, allBefore float64
	measure := func() (part float64, ok bool) {
		content, err := os.ReadFile("/proc/stat")
		if err != nil {
			return 0, false
		}
		line, _, _ := strings.Cut(string(content), "\n")
		fields := strings.Fields(line)
		if len(fields) < 9 || fields[0] != "cpu" {
			return 0, false
		}
		var used, all float64
		for i, field := range fields[1:9] { // what follows is part of user and nice
			ticks, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return 0, false
			}
			all += ticks
			if i != 3 && i != 4 {
				used += ticks
			}
		}
		part = (used - usedBefore) / max(all-allBefore, 1)
		usedBefore, allBefore = used, all
		return part, true
	}
	if _, ok := measure(); !ok {
		return nil
	}
	return func() float64 {
		part, ok := measure()
		if !ok {
			return 1
		}
		return part
	}
}
