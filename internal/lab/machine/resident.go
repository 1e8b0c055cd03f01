package machine

import (
	"fmt"
	"strconv"
	"strings"
)

// Resident is the memory of a process that is its own, in bytes; 0 where the system does
// not say it so.
func Resident(pid int) float64 {
	kilobytes, _, _ := strings.Cut(value(fmt.Sprintf("/proc/%d/status", pid), "RssAnon"), " ")
	n, _ := strconv.ParseFloat(kilobytes, 64) // 0 on failure
	return n * 1024
}
