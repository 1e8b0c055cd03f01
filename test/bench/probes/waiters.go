package probes

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
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

const (
	waiting    = "callers that wait"
	perSecond  = "commands while they wait, /s"
	lastServed = "last waiter served after the release, ms"
)

// watch notes what clients send while all wait.
func (p *probe) watch(callers int, hold time.Duration, sends ...string) {
	from := p.counters()
	time.Sleep(hold)
	p.figures[waiting] = float64(callers)
	p.figures[perSecond], _ = p.counters().PerSecond(from, sends)
}

// waiters is many callers of many clients that wait for one name. It must cost Redis and their
// process little, and all must be served fast after a release. Beside it callers of redsync
// poll with its default delays.
func waiters(p *probe) {
	n, callers := p.size(100, 10), p.size(100, 10)
	hold := p.duration(time.Minute, 100*time.Millisecond)
	if p.Who == "redsync" {
		check(p.rc.Set(p.ctx, "polled", "held", 0).Err())
		for range n {
			rs := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: p.Addr})))
			for range callers {
				go func() { log.Fatal(rs.NewMutex("polled", redsync.WithTries(1<<30)).Lock()) }()
			}
		}
		time.Sleep(hold / 12) // until their connections are made
		p.watch(n*callers, hold/12, "set")
		return
	}
	w := newWaiting(p, "waiters")
	clients := make([]*holdfast.Client, n)
	for i := range clients {
		clients[i] = p.client(fmt.Sprint("client", i))
		check(p.lock(clients[i], fmt.Sprint("own", i)).Release()) // connects
	}
	w.start(clients, 1) // the first caller of each client opens a connection
	first := heap()
	w.start(clients, callers-1)
	time.Sleep(hold / 60)
	p.watch(n*callers, hold)
	p.figures["heap for each further caller, B"] = (heap() - first) / float64(n*(callers-1))
	w.release()
}

// waitingAll is callers that wait for what a holder has.
type waitingAll struct {
	*probe
	name   string
	holder *holdfast.Lease
	calls  sync.WaitGroup

	mu     sync.Mutex
	inside int      // guarded by mu
	served []served // guarded by mu
}

func newWaiting(p *probe, name string) *waitingAll {
	return &waitingAll{probe: p, name: name, holder: p.lock(p.client("holder"), name)}
}

// start lets so many callers of each client wait, and returns when all clients are in the queue.
func (w *waitingAll) start(clients []*holdfast.Client, callers int) {
	for _, client := range clients {
		for range callers {
			w.calls.Go(func() { w.serve(client, "") })
		}
	}
	w.awaitQueue(w.name, len(clients))
}

func (w *waitingAll) serve(client *holdfast.Client, owner string) {
	lease := w.lock(client, w.name)
	at := time.Now()
	w.mu.Lock()
	w.inside++
	if w.inside > 1 {
		log.Fatal("two waiters hold at once")
	}
	w.served = append(w.served, served{lease, owner, at})
	w.inside--
	w.mu.Unlock()
	check(lease.Release())
}

// release releases the name and waits until all are served.
func (w *waitingAll) release() {
	queued := must(w.rc.ZRange(w.ctx, queue(w.name), 0, -1).Result())
	began := time.Now()
	check(w.holder.Release())
	w.calls.Wait()
	w.figures[lastServed] = millis(w.served[len(w.served)-1].at.Sub(began))
	if len(queued) != len(w.served) {
		return // several of a client take turns
	}
	for i, one := range w.served {
		if _, owner, _ := strings.Cut(queued[i], "|"); owner != one.owner {
			log.Fatalf("%s was served as number %d, before %s, who waited in front", one.owner, i, owner)
		}
	}
}

// crowd is very many clients that wait for one name. Beside it, as many wait for the minimal lock
// with a queue and tokens.
func crowd(p *probe) {
	n := p.size(10_000, 300)
	h := newHub(p)
	if p.Who != "holdfast" {
		p.minimalCrowd(h, n)
		return
	}
	w := newWaiting(p, "crowd")
	for i := range n {
		owner := fmt.Sprint("client", i)
		client := holdfast.New(h, &holdfast.Options{Owner: owner})
		w.calls.Go(func() { w.serve(client, owner) })
		if i%100 == 99 { // so that no request waits for long
			p.awaitQueue(w.name, i+1)
		}
	}
	p.watch(n, p.duration(5*time.Second, 100*time.Millisecond))
	w.release()
}

func (p *probe) minimalCrowd(h *hub, n int) {
	keys, ttl := rivals.QueueKeys("crowd"), "120000"
	run := func(script *rueidis.Lua, id string) { check(script.Exec(p.ctx, h.rc, keys, []string{id, ttl}).Error()) }
	run(rivals.JoinQueue, "holder")
	var calls sync.WaitGroup
	calls.Add(n)
	var last time.Time // written by one after the other
	for i := range n {
		id := fmt.Sprint("one:", i)
		must(h.Subscribe(p.ctx, id, func(string) {
			go func() {
				last = time.Now()
				run(rivals.HandOver, id)
				calls.Done()
			}()
		}))
		run(rivals.JoinQueue, id)
	}
	began := time.Now()
	run(rivals.HandOver, "holder")
	calls.Wait()
	p.figures[waiting], p.figures[lastServed] = float64(n), millis(last.Sub(began))
}

// hub is a Store for thousands of Clients in one process, which would else need as many
// connections. All of them use the same connections for their scripts, and one for their
// channels. Redis sees as many waiters with channels of their own as there are Clients.
type hub struct {
	*rueidisstore.Store
	rc        rueidis.Client
	dedicated rueidis.DedicatedClient

	mu        sync.Mutex
	listeners map[string]func(payload string) // by channel; guarded by mu
}

func newHub(p *probe) *hub {
	rc := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr}, DisableCache: true, ForceSingleClient: true, ConnWriteTimeout: time.Minute}))
	h := &hub{Store: rueidisstore.New(rc), rc: rc, listeners: map[string]func(string){}}
	h.dedicated, _ = rc.Dedicate()
	h.dedicated.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		h.mu.Lock()
		message := h.listeners[m.Channel]
		h.mu.Unlock()
		if message != nil {
			message(m.Message)
		}
	}})
	return h
}

// Subscribe listens to one more channel, for as long as the process lives.
func (h *hub) Subscribe(ctx context.Context, channel string, message func(payload string)) (driver.Subscription, error) {
	h.mu.Lock()
	h.listeners[channel] = message
	h.mu.Unlock()
	return endless{}, h.dedicated.Do(ctx, h.rc.B().Subscribe().Channel(channel).Build()).Error()
}

type endless struct{}

func (endless) Ping(context.Context) error { return nil }
func (endless) Done() <-chan struct{}      { return nil }
func (endless) Close()                     {}

// deadWaiters is a caller that comes after very many who died while they waited. It must not wait
// for them, and they must not keep Redis busy for long at a time.
func deadWaiters(p *probe) {
	const name = "dead"
	n := p.size(10_000, 1200)
	check(p.rc.ConfigSet(p.ctx, "slowlog-log-slower-than", "500").Err())
	check(p.rc.ConfigSet(p.ctx, "slowlog-max-len", "4096").Err())
	holder := p.lock(p.client("holder"), name)
	p.join(name, n) // nobody listens for their ids
	alive := make(chan served, 1)
	go func() {
		lease := p.lock(p.client("alive"), name)
		alive <- served{lease: lease, at: time.Now()}
	}()
	for last := []string{""}; !strings.HasSuffix(last[0], "|alive"); time.Sleep(time.Millisecond) {
		last = must(p.rc.ZRange(p.ctx, queue(name), -1, -1).Result())
	}
	check(p.rc.Do(p.ctx, "SLOWLOG", "RESET").Err())
	began := time.Now()
	check(holder.Release())
	p.figures["dead waiters"] = float64(n)
	p.figures["the living waiter served after the release, ms"] = millis((<-alive).at.Sub(began))
	var longest time.Duration
	for _, entry := range must(p.rc.SlowLogGet(p.ctx, 4096).Result()) {
		longest = max(longest, entry.Duration)
	}
	p.figures["longest command, ms"] = millis(longest)
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
