//go:build !unix

package demo

import "os"

// newFrozen connects a buyer that is stalled: no process can be frozen here.
var newFrozen = newBuyer

var freezing map[bool]os.Signal
