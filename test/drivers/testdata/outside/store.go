// Package mystore is a driver of somebody else: it uses package driver and nothing internal. It
// connects holdfast to one server, without TLS and password. resp.go stands for the client
// library.
package mystore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// Store implements [driver.Store]. Make it with [New].
type Store struct {
	client   client
	channels driver.Channels
	redial   driver.Redial
}

var (
	_ driver.Store     = (*Store)(nil)
	_ driver.SendsOnce = (*Store)(nil)
)

// New makes a Store for the server at an address. It does not connect.
func New(address string) *Store {
	s := &Store{client: client{address: address}}
	s.redial.Leave, s.redial.Channels = s.client.close, &s.channels
	return s
}

// Close closes all connections.
func (s *Store) Close() error {
	s.channels.Close()
	s.client.close()
	return nil
}

// Sharded reports false: this is one server.
func (s *Store) Sharded() bool { return false }

// SendsOnce reports true: a call that failed is not sent again.
func (s *Store) SendsOnce() bool { return true }

// Eval runs one script.
func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	result := s.EvalAll(ctx, []driver.Call{call})[0]
	return result.Reply, result.Err
}

func bySHA(call driver.Call) []string    { return command("EVALSHA", call.Script.SHA, call) }
func bySource(call driver.Call) []string { return command("EVAL", call.Script.Source, call) }

func command(name, script string, call driver.Call) []string {
	return slices.Concat([]string{name, script, strconv.Itoa(len(call.Keys))}, call.Keys, call.Args)
}

// send sends commands in one pipeline.
func (s *Store) send(ctx context.Context, commands ...[]string) []driver.Result {
	results := make([]driver.Result, len(commands))
	replies, err := s.client.do(ctx, commands)
	for i := range results {
		if i < len(replies) {
			results[i].Reply, results[i].Err = decode(replies[i])
		} else {
			results[i].Err = err
		}
	}
	return results
}

// decode returns the elements of a reply as text.
func decode(reply any) ([]string, error) {
	switch reply := reply.(type) {
	case nil:
		return nil, nil
	case []any:
		texts := make([]string, len(reply))
		for i, element := range reply {
			if element == nil {
				continue // an empty string
			}
			text, err := decode(element)
			if err != nil {
				return nil, err
			}
			if _, list := element.([]any); list {
				return nil, fmt.Errorf("mystore: element %d of the reply is an array", i)
			}
			texts[i] = text[0]
		}
		return texts, nil
	case int64:
		return []string{strconv.FormatInt(reply, 10)}, nil
	case string:
		return []string{reply}, nil
	case errorReply:
		return nil, driver.ServerError(reply)
	}
	return nil, fmt.Errorf("mystore: reply of type %T", reply)
}

// EvalAll runs the calls in one pipeline.
func (s *Store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	return s.redial.RunAll(ctx, calls, func(calls []driver.Call) []driver.Result {
		results := s.send(ctx, each(calls, bySHA)...)
		for i, call := range calls {
			if driver.UnknownScript(results[i].Err) {
				results[i] = s.send(ctx, bySource(call))[0]
			}
		}
		return results
	})
}

func each(calls []driver.Call, form func(driver.Call) []string) [][]string {
	commands := make([][]string, len(calls))
	for i, call := range calls {
		commands[i] = form(call)
	}
	return commands
}

// EvalWait runs the calls and WAIT in one pipeline.
func (s *Store) EvalWait(ctx context.Context, calls []driver.Call, replicas int, timeout time.Duration) ([]driver.Result, int, error) {
	wait := []string{"WAIT", strconv.Itoa(replicas), strconv.FormatInt(max(1, timeout.Milliseconds()), 10)}
	return s.redial.RunWait(ctx, calls, func() ([]driver.Result, int, error) {
		results := s.send(ctx, append(each(calls, bySHA), wait)...)
		if slices.ContainsFunc(results, func(r driver.Result) bool { return driver.UnknownScript(r.Err) }) {
			results = s.send(ctx, append(each(calls, bySource), wait)...)
		}
		results, waited := results[:len(calls)], results[len(calls)]
		if waited.Err != nil {
			return results, 0, waited.Err
		}
		acked, err := strconv.Atoi(waited.Reply[0])
		return results, acked, err
	})
}

// Scan yields the keys that match.
func (s *Store) Scan(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for cursor := "0"; ; {
			page, err := s.Eval(ctx, driver.Call{Script: driver.ScanPage, Args: []string{cursor, match, "512"}})
			if err != nil {
				yield("", err)
				return
			}
			for _, key := range page[1:] {
				if !yield(key, nil) {
					return
				}
			}
			if cursor = page[0]; cursor == "0" {
				return
			}
		}
	}
}
