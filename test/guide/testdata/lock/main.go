// Command lock takes a free lock once, and writes which code ran to the directory in its argument.
package main

import (
	"context"
	"errors"
	"iter"
	"log"
	"os"
	"runtime/coverage"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// store grants at once.
type store struct{}

func (store) Eval(_ context.Context, call driver.Call) ([]string, error) {
	if call.Script.Name == "unlock" {
		return []string{"released"}, nil
	}
	return []string{"granted 3527400000000063 64 0 1763700000 0"}, nil
}

func (s store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for i, call := range calls {
		results[i].Reply, results[i].Err = s.Eval(ctx, call)
	}
	return results
}

func (s store) EvalWait(ctx context.Context, calls []driver.Call, _ int, _ time.Duration) ([]driver.Result, int, error) {
	return s.EvalAll(ctx, calls), 0, nil
}

func (store) Subscribe(context.Context, string, func(string)) (driver.Subscription, error) {
	return nil, errors.New("nothing is pushed here")
}

func (store) Scan(context.Context, string) iter.Seq2[string, error] { return nil }
func (store) Sharded() bool                                         { return false }

func main() {
	client := holdfast.New(store{}, nil)
	for range 10 { // what is done once is done
		lock(client, func(func()) {})
	}
	lock(client, func(write func()) { write() }) // and what a Lock does is left
}

func lock(client *holdfast.Client, then func(write func())) {
	if err := coverage.ClearCounters(); err != nil {
		log.Fatal(err)
	}
	lease, err := client.Mutex("job").Lock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	then(func() {
		if err := errors.Join(coverage.WriteMetaDir(os.Args[1]), coverage.WriteCountersDir(os.Args[1])); err != nil {
			log.Fatal(err)
		}
	})
	if err := lease.Release(); err != nil {
		log.Fatal(err)
	}
}
