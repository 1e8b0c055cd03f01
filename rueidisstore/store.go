package rueidisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/channels"
	"github.com/redis/rueidis"
)

// Store implements [driver.Store] with a rueidis client. Make it with [New]
// or [Open].
type Store struct {
	client rueidis.Client
	own    bool // made by Open, closed by Close
	once   bool // no call is sent again that may have run

	pool  channels.Pool // the subscriptions
	slots slots         // of a Cluster
}

var _ driver.Store = (*Store)(nil)
var _ driver.SendsOnce = (*Store)(nil)

// SendsOnce reports whether the client never sends a call again that may have
// run. That is true for a Store that [Open] made for one server or Sentinel,
// unless Adjust set ConnLifetime. It is false for a Store that [New] made. See
// [driver.SendsOnce].
func (s *Store) SendsOnce() bool { return s.once }

// New makes a Store that uses the client of your program. Other code may use
// the client, too. Close it after the Store: Close of the Store does not close
// it. New panics if the client is nil.
//
// Set PipelineMultiplex: -1 in the client, as [Open] does. Otherwise rueidis
// has several connections and opens each one when it first picks it. A server
// with no free connection then refuses it, and a renewal fails.
func New(client rueidis.Client) *Store {
	if client == nil {
		panic("rueidisstore: New needs a client")
	}
	return &Store{client: client}
}

// Options are the settings of [Open]. The zero value works.
type Options struct {
	// Adjust changes the client options that Open took from the URL. Use it for
	// credentials that rotate, another dialer, or another name than "holdfast"
	// in CLIENT LIST.
	Adjust func(*rueidis.ClientOption)
}

// Open makes a client from a URL, connects it, and returns a Store that owns
// it. See [ParseURL] for the forms of a URL. It blocks for at most the dial
// timeout of 3 s per address. Nil options mean the defaults. Close the Store.
func Open(url string, options *Options) (*Store, error) {
	option, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	if options != nil && options.Adjust != nil {
		options.Adjust(&option)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		if client != nil { // rueidis can return both
			client.Close()
		}
		if said, ok := rueidis.IsRedisErr(err); ok {
			err = driver.ServerError(said.Error())
		}
		return nil, fmt.Errorf("rueidisstore: cannot connect to %s: %w", strings.Join(option.InitAddress, ", "), err)
	}
	if strings.HasPrefix(url, "cluster") && client.Mode() != rueidis.ClientModeCluster {
		client.Close()
		return nil, errors.New("rueidisstore: the server is not part of a cluster: use redis:// for a single server")
	}
	s := New(client)
	s.own = true
	s.once = client.Mode() != rueidis.ClientModeCluster && option.ConnLifetime == 0
	return s, nil
}

// Close ends the subscriptions, and the client if [Open] made it. Further calls
// do nothing.
func (s *Store) Close() error {
	first := s.pool.Close() // rueidis leaves dedicated connections alone
	if s.own && first {
		s.client.Close()
	}
	return nil
}

// Sharded reports whether the client talks to a cluster.
func (s *Store) Sharded() bool { return s.client.Mode() == rueidis.ClientModeCluster }

// Eval runs one script. See [driver.Store].
func (s *Store) Eval(ctx context.Context, call driver.Call) ([]string, error) {
	reply, err := decode(s.client.Do(ctx, s.bySHA(call)))
	if unknownScript(err) {
		reply, err = decode(s.client.Do(ctx, s.bySource(call)))
	}
	return reply, err
}

func (s *Store) bySHA(call driver.Call) rueidis.Completed {
	return s.client.B().Evalsha().Sha1(call.Script.SHA).Numkeys(int64(len(call.Keys))).Key(call.Keys...).Arg(call.Args...).Build()
}

func (s *Store) bySource(call driver.Call) rueidis.Completed {
	return s.client.B().Eval().Script(call.Script.Source).Numkeys(int64(len(call.Keys))).Key(call.Keys...).Arg(call.Args...).Build()
}

func unknownScript(err error) bool {
	refused, ok := errors.AsType[driver.ServerError](err)
	return ok && strings.HasPrefix(string(refused), "NOSCRIPT")
}

// chunk is how many scripts go out in one pipeline: enough to make round trips
// cheap, too few to hold up what others send on the same connection.
const chunk = 64

// EvalAll runs the calls in pipelines of a bounded size, one after the other.
// See [driver.Store].
func (s *Store) EvalAll(ctx context.Context, calls []driver.Call) []driver.Result {
	results := make([]driver.Result, len(calls))
	for start := 0; start < len(calls); start += chunk {
		end := min(start+chunk, len(calls))
		s.pipeline(ctx, calls[start:end], results[start:end])
	}
	return results
}

// pipeline sends the calls by SHA, then by source those that the server did not
// know.
func (s *Store) pipeline(ctx context.Context, calls []driver.Call, results []driver.Result) {
	commands := make(rueidis.Commands, len(calls))
	for i, call := range calls {
		commands[i] = s.bySHA(call)
	}
	var unknown []int
	for i, reply := range s.client.DoMulti(ctx, commands...) {
		results[i].Reply, results[i].Err = decode(reply)
		if unknownScript(results[i].Err) {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return
	}
	commands = commands[:0]
	for _, i := range unknown {
		commands = append(commands, s.bySource(calls[i]))
	}
	for k, reply := range s.client.DoMulti(ctx, commands...) {
		results[unknown[k]].Reply, results[unknown[k]].Err = decode(reply)
	}
}
