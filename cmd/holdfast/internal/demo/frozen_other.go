//go:build !unix

package demo

import "os"

// freezing is nil: no process can be frozen here.
var freezing map[bool]os.Signal
