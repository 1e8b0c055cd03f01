package embedded_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
)

// BenchmarkEval is one grant's worth of commands, with more and more keys that
// have an expiry lying around.
func BenchmarkEval(b *testing.B) {
	for _, keys := range []int{1, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			store := open(b)
			for i := range keys {
				do(b, store, "SET", fmt.Sprint("k", i), "v", "PX", "86400000")
			}
			call := driver.Call{
				Script: lua(`local now = redis.call('TIME')
					redis.call('SET', KEYS[1], ARGV[1], 'PX', 15000)
					redis.call('SET', KEYS[2], now[1], 'PX', 86400000)
					return redis.call('PTTL', KEYS[1])`),
				Keys: []string{"k0", "f0"}, Args: []string{"id"},
			}
			for b.Loop() {
				if _, err := store.Eval(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evals/s")
		})
	}
}
