//go:build !unix

package cell

import (
	"errors"
	"time"
)

func mapShared(string, int) ([]byte, error) {
	return nil, errors.New("this system has no mmap: run the benchmark on Linux or macOS")
}

// UsedCPU is not known here.
func UsedCPU() time.Duration { return 0 }
