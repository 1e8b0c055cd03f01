// Package seam is where simulated time and randomness enter: a Store that
// carries a Seam lends them to the Client made on it. Only tests of this
// project do; I/O needs no seam of its own, it passes through Store.
package seam

import "time"

// Seam replaces the machine's clock and randomness. A nil field keeps the real
// one.
type Seam struct {
	Now    func() time.Duration // since any fixed moment; never steps back
	Random func() uint64
}

// Carrier is a Store that brings a Seam.
type Carrier interface{ Seam() Seam }
