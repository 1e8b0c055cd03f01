package clock

import "time"

// Seam is where simulated time and randomness enter: a store that carries a Seam lends
// them to the Client made on it. Only tests of this project do; I/O needs no seam of its
// own, it passes through the store. A nil field keeps the real one.
type Seam struct {
	Now    func() time.Duration // since any fixed moment; never steps back
	Random func() uint64
}

// Carrier is a store that brings a Seam.
type Carrier interface{ Seam() Seam }
