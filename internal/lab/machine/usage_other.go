//go:build !unix

package machine

import "time"

// UsedCPU is not known here.
func UsedCPU() time.Duration { return 0 }
