package probes

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// served is a waiter that got its lock.
type served struct {
	lease *holdfast.Lease
	owner string
	at    time.Time
}

// wait has a client wait for a name, and returns when so many clients are in its queue.
func (p *probe) wait(client *holdfast.Client, name string, inQueue int) <-chan served {
	got := make(chan served, 1)
	go func() {
		lease := p.lock(client, name)
		got <- served{lease: lease, at: time.Now()}
	}()
	p.awaitQueue(name, inQueue)
	return got
}

// manyWaiters are callers that wait for the name of a holder.
type manyWaiters struct {
	*probe
	holder *holdfast.Lease
	calls  sync.WaitGroup
	inside atomic.Int64

	mu     sync.Mutex
	served []served // protected by mu
}

const contended = "waits"

// waiters is so many clients whose callers wait for one name. They must cost Redis and their process
// little while they wait, and all must be served fast, and clients in order, after a release.
func waiters(clients, quickClients, callers, quickCallers int) func(*probe) {
	return func(p *probe) {
		clients, callers := p.size(clients, quickClients), p.size(callers, quickCallers)
		if p.Who == "redsync" {
			p.polling(clients, callers)
			return
		}
		c := &manyWaiters{probe: p, holder: p.lock(p.client("holder"), contended)}
		h, all := newHub(p), make([]*holdfast.Client, clients)
		for i := range all {
			all[i] = holdfast.New(h, &holdfast.Options{Owner: fmt.Sprint("client", i)})
			c.wait(all[i], i)
			if i%100 == 99 { // so that no request waits for long
				p.awaitQueue(contended, i+1)
			}
		}
		p.awaitQueue(contended, clients)
		first := heap()
		for i, client := range all {
			for range callers - 1 {
				c.wait(client, i)
			}
		}
		p.watch(clients*callers, p.duration(time.Minute, 100*time.Millisecond))
		if callers > 1 {
			p.figures["heap for each further caller, B"] = (heap() - first) / float64(clients*(callers-1))
		}
		c.release(clients)
	}
}

// watch notes what clients send while all wait.
func (p *probe) watch(callers int, hold time.Duration) {
	time.Sleep(hold / 10) // until all do
	from := p.counters()
	time.Sleep(hold)
	p.figures["callers that wait"] = float64(callers)
	p.figures["commands while they wait, /s"], _ = p.counters().PerSecond(from, []string{"set"})
}

// polling is as many callers of redsync that poll, with its default delays.
func (p *probe) polling(clients, callers int) {
	check(p.rc.Set(p.ctx, contended, "held", 0).Err())
	for range clients {
		rs := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: p.Addr})))
		for range callers {
			go func() { log.Fatal(rs.NewMutex(contended, redsync.WithTries(1<<30)).Lock()) }()
		}
	}
	p.watch(clients*callers, p.duration(10*time.Second, time.Second))
}

// wait lets one more caller wait. When it is served, it notes that and releases.
func (c *manyWaiters) wait(client *holdfast.Client, number int) {
	c.calls.Go(func() {
		lease := c.lock(client, contended)
		at := time.Now()
		if c.inside.Add(1) > 1 {
			log.Fatal("two waiters hold at once")
		}
		c.mu.Lock()
		c.served = append(c.served, served{lease, fmt.Sprint("client", number), at})
		c.mu.Unlock()
		c.inside.Add(-1)
		check(lease.Release())
	})
}

// release releases the name and waits until all are served.
func (c *manyWaiters) release(clients int) {
	queued := must(c.rc.ZRange(c.ctx, queue(contended), 0, -1).Result())
	began := time.Now()
	check(c.holder.Release())
	c.calls.Wait()
	c.figures["last waiter served after the release, ms"] = millis(c.served[len(c.served)-1].at.Sub(began))
	for i, each := 0, len(c.served)/clients; i < clients; i++ { // those of one client take turns
		if _, owner, _ := strings.Cut(queued[i], "|"); owner != c.served[i*each].owner {
			log.Fatalf("%s was served before %s, which had come before it", c.served[i*each].owner, owner)
		}
	}
}

// hub is a Store for thousands of Clients in one process, which would else need as many connections.
// All of them use the same connections for their scripts, and one for their channels. Redis sees as many waiters with channels of their own as there are Clients.
type hub struct {
	*rueidisstore.Store
	dedicated rueidis.DedicatedClient

	mu        sync.Mutex
	listeners map[string]func(payload string) // by channel; protected by mu
}

func newHub(p *probe) *hub {
	rc := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr}, DisableCache: true, ForceSingleClient: true, ConnWriteTimeout: time.Minute}))
	h := &hub{Store: rueidisstore.New(rc), listeners: map[string]func(string){}}
	h.dedicated, _ = rc.Dedicate()
	h.dedicated.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		h.mu.Lock()
		message := h.listeners[m.Channel]
		h.mu.Unlock()
		message(m.Message)
	}})
	return h
}

// Subscribe listens to one more channel, for as long as the process lives.
func (h *hub) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	h.mu.Lock()
	h.listeners[channel] = message
	h.mu.Unlock()
	return endless{}, h.dedicated.Do(ctx, h.dedicated.B().Subscribe().Channel(channel).Build()).Error()
}

type endless struct{}

func (endless) Ping(context.Context) error { return nil }
func (endless) Done() <-chan struct{}      { return nil }
func (endless) Close()                     {}

// deadWaiters is a caller that comes after very many who died while they waited. It must not wait
// for them.
func deadWaiters(p *probe) {
	const name = "dead"
	n := p.size(10_000, 1200)
	holder := p.lock(p.client("holder"), name)
	p.join(name, n) // nobody listens for their ids
	alive := p.wait(p.client("alive"), name, n+1)
	began := time.Now()
	check(holder.Release())
	p.figures["dead waiters"] = float64(n)
	p.figures["the living waiter served after the release, ms"] = millis((<-alive).at.Sub(began))
}

// rawCall is a script of the protocol, sent without a Client; see docs/protocol.md.
type rawCall struct {
	script *driver.Script
	name   string
	args   []any
}

// raw runs so many scripts, in pipelines. All must give the same answer.
func (p *probe) raw(n int, want string, call func(i int) rawCall) {
	const batch = 500
	for from := 0; from < n; from += batch {
		pipe := p.rc.Pipeline()
		for i := from; i < min(from+batch, n); i++ {
			c := call(i)
			l := holdfast.DefaultPrefix + c.name
			pipe.EvalSha(p.ctx, c.script.SHA, []string{l, "holdfast/fence:{" + l + "}", "holdfast/queue:{" + l + "}"}, c.args...)
		}
		for _, answer := range must(pipe.Exec(p.ctx)) {
			if got := fmt.Sprint(answer.(*redis.Cmd).Val()); !strings.HasPrefix(strings.TrimPrefix(got, "["), want) {
				log.Fatalf("a script answered %q, want %s", got, want)
			}
		}
	}
}

// loadRaw loads what raw calls.
func (p *probe) loadRaw() {
	check(p.rc.ScriptLoad(p.ctx, script.Lock.Source).Err())
	check(p.rc.ScriptLoad(p.ctx, script.Unlock.Source).Err())
}

// rawOwner is the part of raw ids that says which Client they are of, and of the name of the
// channel that grants go to.
const rawOwner = "AAAAAAAAAAAAAAAAAAAAAA"

var made int

// rawID makes an id of the usual length.
func rawID() string {
	made++
	return fmt.Sprintf("%s.%011d.600000|bench-host:12345", rawOwner, made)
}

func rawLock(name, id string) rawCall { return rawCall{script.Lock, name, []any{id}} }
func rawJoin(name, id string) rawCall { return rawCall{script.Lock, name, []any{id, "wait", "0", ""}} }

// join lets so many ids wait for a name.
func (p *probe) join(name string, n int) (ids []string) {
	p.loadRaw()
	p.raw(n, "queued", func(int) rawCall {
		ids = append(ids, rawID())
		return rawJoin(name, ids[len(ids)-1])
	})
	return ids
}
