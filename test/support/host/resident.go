package host

import (
	"fmt"
	"strconv"
	"strings"
)

// Resident returns the private memory of a process in bytes, or 0 if the system does not report
// it.
func Resident(pid int) float64 {
	kilobytes, _, _ := strings.Cut(value(fmt.Sprintf("/proc/%d/status", pid), "RssAnon"), " ")
	n, _ := strconv.ParseFloat(kilobytes, 64) // 0 on failure
	return n * 1024
}
