//go:build !unix

package host

import "time"

// UsedCPU is not known here.
func UsedCPU() time.Duration { return 0 }
