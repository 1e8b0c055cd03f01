// Package majority asks the nodes of a quorum, and counts their answers.
package majority

import (
	"context"
	"time"
)

// Straggler is how long to wait for the other nodes after a majority has answered.
const Straggler = 200 * time.Millisecond

// Of returns the number of nodes in a majority of n.
func Of(n int) int { return n/2 + 1 }

// Distinct counts the nodes for which has returns ok. Two nodes with the same run are one
// server under two addresses, and count once. An empty run is equal to no other.
func Distinct(n int, has func(i int) (run string, ok bool)) int {
	count := 0
	for i := range n {
		run, ok := has(i)
		if !ok {
			continue
		}
		first := true
		for k := range i {
			if other, ok := has(k); ok && run != "" && other == run {
				first = false
			}
		}
		if first {
			count++
		}
	}
	return count
}

// Ask calls ask for each of n nodes in parallel. It returns the answers that came, in
// their order, and the error of each node. It returns when decided accepts the answers,
// 200 ms after a majority has answered, when all have answered, or when ctx ends. It asks
// no node if ctx has ended before.
func Ask[T any](ctx context.Context, n int, ask func(ctx context.Context, i int) (T, error), decided func([]T) bool) ([]T, []error) {
	type result struct {
		node   int
		answer T
		err    error
	}
	errs := make([]error, n)
	if ctx.Err() != nil {
		return nil, errs
	}
	came := make(chan result, n)
	for i := range n {
		go func() {
			answer, err := ask(ctx, i)
			came <- result{i, answer, err}
		}()
	}
	var answers []T
	var enough <-chan time.Time
	for waiting := n; waiting > 0; {
		select {
		case r := <-came:
			waiting--
			if errs[r.node] = r.err; r.err != nil {
				continue
			}
			answers = append(answers, r.answer)
			if decided(answers) {
				return answers, errs
			}
			if len(answers) == Of(n) {
				enough = time.After(Straggler)
			}
		case <-enough:
			return answers, errs
		case <-ctx.Done():
			return answers, errs
		}
	}
	return answers, errs
}
