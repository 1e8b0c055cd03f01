package bulk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// queueJob is some Clients in one process, whose callers all want one name. Each
// that gets it notes when and gives it back.
type queueJob struct {
	order   order
	hub     *hub // nil: each Client has connections of its own
	clients []*holdfast.Client
	before  float64 // heap
	waiting []*waitingCaller
	served  sync.WaitGroup
}

// waitingCaller is made before memory is first measured: what it takes is the
// benchmark's.
type waitingCaller struct {
	context.Context // what it locks with
	once            sync.Once
	asks            chan struct{}
	servedCaller
}

// servedCaller is what the parent learns of a caller.
type servedCaller struct {
	Client, Caller int
	At, Until      int64 // when it was granted, and was about to give it back, ns since 1970
	Token          int64
}

// Done tells that Lock is about to join the queue: it must know what could end
// its wait.
func (w *waitingCaller) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asks) })
	return w.Context.Done()
}

// apart is the time in which a caller that is about to join the queue has surely joined it.
const apart = 4 * time.Millisecond

func newQueueJob(o order) (job, error) {
	j := &queueJob{order: o}
	if o.Shared {
		var err error
		if j.hub, err = newHub(o.Addr); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel // nobody does; but Lock must think so
	for i := range o.Clients {
		client, err := j.open(fmt.Sprintf("bench-%d", o.Number+i))
		if err != nil {
			return nil, err
		}
		j.clients = append(j.clients, client)
		for k := range o.Callers {
			j.waiting = append(j.waiting, &waitingCaller{
				Context: ctx, asks: make(chan struct{}), servedCaller: servedCaller{Client: o.Number + i, Caller: k},
			})
		}
	}
	j.before = heap()
	return j.do, nil
}

// open makes a Client and lets it lock once, which connects all that waiting
// does not need.
func (j *queueJob) open(owner string) (*holdfast.Client, error) {
	options := &holdfast.Options{Owner: owner}
	if j.hub != nil {
		return holdfast.New(j.hub, options), nil
	}
	store, err := rueidisstore.Open("redis://"+j.order.Addr, nil)
	if err != nil {
		return nil, err
	}
	client := holdfast.New(store, options)
	lease, err := client.Mutex(j.order.Name + ":" + owner).Lock(context.Background())
	if err != nil {
		return nil, err
	}
	return client, lease.Release()
}

func (j *queueJob) do(word string) (any, error) {
	switch word {
	case "open":
		return nil, nil
	case "first":
		return nil, j.enter(0, 1)
	case "rest":
		return nil, j.enter(1, j.order.Callers)
	case "memory":
		return heap() - j.before, nil
	case "served":
		j.served.Wait()
		served := make([]servedCaller, len(j.waiting))
		for i, w := range j.waiting {
			served[i] = w.servedCaller
		}
		return served, nil
	}
	return nil, fmt.Errorf("no word %q", word)
}

// enter brings callers into the local queues of their Clients, those of one Client one
// after the other.
func (j *queueJob) enter(from, to int) error {
	return inParallel(len(j.clients), 64, func(i int) error {
		for k := from; k < to; k++ {
			if err := j.start(j.clients[i], j.waiting[i*j.order.Callers+k]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (j *queueJob) start(client *holdfast.Client, w *waitingCaller) error {
	j.served.Add(1)
	go func() {
		defer j.served.Done()
		lease, err := client.Mutex(j.order.Name).Lock(w)
		if err != nil {
			panic(err) // the parent sees it on stderr
		}
		w.At, w.Token = time.Now().UnixNano(), lease.Token()
		w.Until = time.Now().UnixNano()
		if err := lease.Release(); err != nil {
			panic(err)
		}
	}()
	select {
	case <-w.asks:
		if j.order.Callers > 1 { // else nobody can overtake
			time.Sleep(apart)
		}
		return nil
	case <-time.After(10 * time.Second):
		return errors.New("a call of Lock does not wait")
	}
}
