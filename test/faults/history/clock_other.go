//go:build !linux

package history

import "time"

var began = time.Now()

// Now is ns of a clock of this process: runs are made on Linux, where it is one
// clock for all processes.
func Now() int64 { return int64(time.Since(began)) }
