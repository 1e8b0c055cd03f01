package drivers_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// BenchmarkNames measures what a list of names costs Redis for each million keys: the figures
// of 'holdfast help ls'. None of the keys is a lock, so nothing else is asked.
func BenchmarkNames(b *testing.B) {
	for what, prefix := range map[string]string{"keys of others": "", "under the prefix": "user:"} {
		b.Run(what, func(b *testing.B) {
			const keys = 500_000
			server := redistest.Start(b, redistest.Options{})
			for from := range keys / 1000 {
				fill := fmt.Sprintf("for i = 1, 1000 do redis.call('SET', 'user:' .. %d + i, 'the value of a program') end", from*1000)
				if _, err := server.Do("EVAL", fill, "0"); err != nil {
					b.Fatal(err)
				}
			}
			store, err := rueidisstore.Open("redis://"+server.Addr(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			busy := func() (seconds float64) {
				used, err := server.Info("cpu")
				for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
					n, wrong := strconv.ParseFloat(used[field], 64)
					if err != nil || wrong != nil {
						b.Fatal(err, wrong)
					}
					seconds += n
				}
				return seconds
			}
			names := admin.New(store, &admin.Options{Prefix: prefix})
			before := busy()
			for range b.N {
				for name, err := range names.Names(b.Context(), "") {
					b.Fatalf("got %q, %v, want no names", name, err)
				}
			}
			b.ReportMetric((busy()-before)*1e6/float64(keys*b.N), "redis-s/million-keys")
		})
	}
}
