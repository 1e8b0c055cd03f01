package bulk

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// rawLocks speaks the protocol with no Client, for what would take too many of
// them: docs/protocol.md says what the scripts take and answer.
type rawLocks struct {
	client rueidis.Client
	wake   rueidis.DedicatedClient // listens for the Client that all its ids are of
	owner  string                  // that Client's part of an id
	made   int
}

func newRawLocks(server *redistest.Server) (*rawLocks, error) {
	client, err := newRueidis(server.Addr())
	if err != nil {
		return nil, err
	}
	r := &rawLocks{client: client, owner: "AAAAAAAAAAAAAAAAAAAAAA"}
	ctx := context.Background()
	for _, s := range []*driver.Script{script.Lock, script.Unlock} {
		if err := client.Do(ctx, client.B().ScriptLoad().Script(s.Source).Build()).Error(); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// listen makes its ids those of waiters that can be told.
func (r *rawLocks) listen() error {
	wake, _ := r.client.Dedicate()
	r.wake = wake
	wake.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
	return wake.Do(context.Background(), wake.B().Subscribe().Channel("holdfast/push:"+r.owner).Build()).Error()
}

func (r *rawLocks) Close() {
	if r.wake != nil {
		r.wake.Close()
	}
	r.client.Close()
}

// id makes one of the usual length.
func (r *rawLocks) id() string {
	r.made++
	return fmt.Sprintf("%s.%011d.600000|bench-host:12345", r.owner, r.made)
}

func (r *rawLocks) call(s *driver.Script, name string, args ...string) rueidis.Completed {
	l := holdfast.DefaultPrefix + name
	return r.client.B().Evalsha().Sha1(s.SHA).Numkeys(3).
		Key(l, "holdfast/fence:{"+l+"}", "holdfast/queue:{"+l+"}").Arg(args...).Build()
}

func (r *rawLocks) Lock(name, id string) rueidis.Completed {
	return r.call(script.Lock, name, id)
}

func (r *rawLocks) join(name, id string) rueidis.Completed {
	return r.call(script.Lock, name, id, "wait", "0", "")
}

func (r *rawLocks) Unlock(name, id string) rueidis.Completed { return r.call(script.Unlock, name, id) }

// handOver gives the name from one id to the head of the queue, and queues another
// at its tail.
func (r *rawLocks) handOver(name, id, fresh string) rueidis.Completed {
	return r.call(script.Unlock, name, id, "", fresh)
}

// all sends commands in pipelines of a bounded size. Each must be answered by a
// word that begins as said.
func (r *rawLocks) all(n int, expected string, command func(i int) rueidis.Completed) error {
	const batch = 500
	for from := 0; from < n; from += batch {
		commands := make(rueidis.Commands, 0, batch)
		for i := from; i < min(from+batch, n); i++ {
			commands = append(commands, command(i))
		}
		for _, reply := range r.client.DoMulti(context.Background(), commands...) {
			if err := said(reply, expected); err != nil {
				return err
			}
		}
	}
	return nil
}

func said(reply rueidis.RedisResult, expected string) error {
	message, err := reply.ToMessage()
	if err != nil {
		return err
	}
	var word string
	if message.IsArray() {
		words, err := message.ToArray()
		if err != nil || len(words) == 0 {
			return fmt.Errorf("a script answered %v, want %s: %w", words, expected, err)
		}
		message = words[0]
	}
	if word, err = message.ToString(); err == nil && !strings.HasPrefix(word, expected) {
		err = fmt.Errorf("a script answered %q, want %s", word, expected)
	}
	return err
}
