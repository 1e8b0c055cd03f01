// Package tokens keeps the fencing tokens that Redis has reserved for one tenure, in blocks,
// and gives them to its turns one by one. Each token is higher than the one before. It does no
// I/O, and is not safe for concurrent use.
package tokens

import "github.com/holdfast-go/holdfast/internal/wire"

// Blocks are the tokens that a tenure may give to its turns: the block in use, and a spare
// block that was reserved in time. The zero value has no tokens.
type Blocks struct {
	next, end       int64 // in use: from next up to, not including, end
	spare, spareEnd int64 // the block after it
	half            int64 // of the tokens that the block in use had
	last            int64 // the highest that was reserved
}

// Add takes a block. It drops tokens of the block below one that is used or ready, and the
// whole block if there is a spare.
func (b *Blocks) Add(base, size int64) {
	end := base + size
	base = max(base, b.end)
	switch {
	case base >= end:
	case b.next == b.end && b.spare == b.spareEnd:
		b.next, b.end, b.half = base, end, (end-base)/2
	case b.spare == b.spareEnd:
		b.spare, b.spareEnd = base, end
	}
}

// Reserved notes that Redis has reserved a block, whether it is used or not.
func (b *Blocks) Reserved(base, size int64) { b.last = max(b.last, base+size-1) }

// Last returns the highest token that was reserved.
func (b *Blocks) Last() int64 { return b.last }

// Take gives the next token; ok is false when none is left.
func (b *Blocks) Take() (token int64, ok bool) {
	if b.next == b.end && b.spare < b.spareEnd {
		b.next, b.end, b.half = b.spare, b.spareEnd, (b.spareEnd-b.spare)/2
		b.spare, b.spareEnd = 0, 0
	}
	if b.next == b.end {
		return 0, false
	}
	b.next++
	return b.next - 1, true
}

// Wanted returns how many tokens the next renewal should reserve: none if there is a spare block,
// or if more than half of the block in use is left. The block of a grant is smaller.
func (b *Blocks) Wanted() int64 {
	if b.spare < b.spareEnd || b.end-b.next > b.half {
		return 0
	}
	return wire.MaxTokenBlock
}
