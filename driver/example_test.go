package driver_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/driver"
)

// A driver sends a script by its SHA, and by its source if the server does not know it.
func ExampleStore() {
	store := &Store{do: func(_ context.Context, args ...any) ([]string, error) {
		fmt.Println(args[0])
		if args[0] == "EVALSHA" {
			return nil, driver.ServerError("NOSCRIPT No matching script. Please use EVAL.")
		}
		return []string{"PONG"}, nil
	}}
	ping := driver.NewScript("ping", "return redis.call('PING')")
	reply, err := store.Eval(context.Background(), driver.Call{Script: ping})
	fmt.Println(reply, err)
	// Output:
	// EVALSHA
	// EVAL
	// [PONG] <nil>
}

// Store has the first of the methods of a driver.Store.
type Store struct {
	do func(ctx context.Context, args ...any) ([]string, error) // of a client library
}

func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	reply, err := s.send(ctx, "EVALSHA", call.Script.SHA, call)
	if driver.UnknownScript(err) {
		reply, err = s.send(ctx, "EVAL", call.Script.Source, call)
	}
	return reply, err
}

func (s *Store) send(ctx context.Context, command, script string, call driver.Call) ([]string, error) {
	args := []any{command, script, len(call.Keys)}
	for _, text := range slices.Concat(call.Keys, call.Args) {
		args = append(args, text)
	}
	return s.do(ctx, args...)
}
