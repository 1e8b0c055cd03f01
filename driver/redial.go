package driver

import (
	"context"
	"sync"
	"time"
)

// redialEvery is how often a driver leaves the connections to one server: while the address leads
// to a replica, calls must not dial one after the other.
const redialEvery = time.Second

// Redial lets a driver for one server follow an address that moves to another server: a name in
// DNS, a virtual IP, a Service of Kubernetes. After a failover the old master is a replica. The
// connections to it stay open, and it refuses the calls on them. Only a new connection reaches the
// new master.
//
// The driver sends all scripts through Run, RunAll or RunWait. If the server answers [WrongServer], Redial
// leaves the connections and sends the refused calls again. It leaves them at most once a second.
// In between it returns the newest refusal for scripts that the server has refused, and does not
// send them; a call whose context lasts long enough waits for the next attempt.
//
// Where the client library asks Sentinel or a Cluster for the master, leave the fields nil: then
// Redial only sends. Set the fields before the first call. A Redial must not be copied.
type Redial struct {
	// Leave makes sure that the next call is sent on a new connection, for example by closing the
	// idle ones. It returns when that is done. It must return within 2 s. Calls of Leave do not overlap.
	Leave func()
	// Channels has the subscriptions of the driver. Redial ends them when another server answers,
	// and the Client subscribes again. Nil if the driver has another way.
	Channels *Channels

	mu      sync.Mutex      // protects the rest
	refused map[string]bool // the scripts that the wrong server refused, by SHA; nil: the server is right
	err     error           // the newest refusal
	left    time.Time       // when the connections were left, the last time
	closing chan struct{}   // closed when Leave returns; nil: it does not run
	leaving chan struct{}   // closed when the first call after Leave is answered; nil: there is none
	rounds  int             // how often Leave was called
}

// Run is for [Store.Eval]: send sends the call.
func (r *Redial) Run(ctx context.Context, call Call, send func() ([]string, error)) (reply []string, err error) {
	if r.Leave == nil {
		return send()
	}
	pending := []Call{call}
	err = r.run(ctx, &pending, func() (err error) {
		reply, err = send()
		return err
	})
	return reply, err
}

// RunAll is for [Store.EvalAll]: send sends independent calls. Only the refused ones are sent again.
func (r *Redial) RunAll(ctx context.Context, calls []Call, send func([]Call) []Result) []Result {
	if r.Leave == nil {
		return send(calls)
	}
	var results []Result
	pending := calls
	err := r.run(ctx, &pending, func() (err error) {
		got := send(pending)
		if results == nil {
			results = got
		} else {
			for i, result := range results {
				if WrongServer(result.Err) {
					results[i], got = got[0], got[1:]
				}
			}
		}
		pending = nil
		for i, result := range results {
			if WrongServer(result.Err) {
				pending, err = append(pending, calls[i]), result.Err
			}
		}
		return err
	})
	if results == nil {
		results = notSent(calls, err)
	}
	return results
}

// RunWait is for [Store.EvalWait]: send sends the calls and WAIT. If the server refuses one of them,
// all are sent again.
func (r *Redial) RunWait(ctx context.Context, calls []Call, send func() ([]Result, int, error)) (results []Result, acked int, err error) {
	refusal := r.run(ctx, &calls, func() error {
		results, acked, err = send()
		for _, result := range results {
			if WrongServer(result.Err) {
				return result.Err
			}
		}
		return err
	})
	if results == nil {
		return notSent(calls, refusal), 0, refusal
	}
	return results, acked, err
}

func notSent(calls []Call, err error) []Result {
	results := make([]Result, len(calls))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// run sends the pending calls until the right server has answered.
func (r *Redial) run(ctx context.Context, pending *[]Call, send func() error) error {
	if r.Leave == nil {
		return send()
	}
	for {
		leave, round, err := r.next(ctx, *pending)
		if err != nil {
			return err
		}
		if leave {
			r.Leave()
			r.closed()
		}
		err = send()
		switch {
		case leave:
			if r.tried(*pending, err); !WrongServer(err) && r.Channels != nil {
				r.Channels.End(func(ChannelConn) bool { return true }) // they lead to the old server
			}
			return err
		case WrongServer(err):
			r.note(*pending, round, err)
		default:
			return err
		}
	}
}

// next waits until calls may be sent. leave says that the caller has to leave the connections
// first. An error means that the calls must not be sent now.
func (r *Redial) next(ctx context.Context, calls []Call) (leave bool, round int, err error) {
	for {
		r.mu.Lock()
		refused, closing := r.allRefused(calls), r.closing
		if !refused && closing == nil {
			defer r.mu.Unlock()
			return false, r.rounds, nil
		}
		answered, err, due := r.leaving, r.err, r.left.Add(redialEvery)
		if !refused {
			answered = closing
		}
		wait := time.Until(due)
		if answered == nil && wait <= 0 {
			defer r.mu.Unlock()
			r.closing, r.leaving = make(chan struct{}), make(chan struct{})
			r.rounds++
			return true, r.rounds, nil
		}
		r.mu.Unlock()
		if end, ok := ctx.Deadline(); answered == nil && ok && end.Before(due) {
			return false, 0, err
		}
		var pause <-chan time.Time
		if answered == nil {
			pause = time.After(wait)
		}
		select {
		case <-answered:
		case <-pause:
		case <-ctx.Done():
			return false, 0, err
		}
	}
}

func (r *Redial) allRefused(calls []Call) bool {
	for _, call := range calls {
		if !r.refused[call.Script.SHA] {
			return false
		}
	}
	return len(r.refused) > 0
}

// closed notes that Leave has returned.
func (r *Redial) closed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.closing)
	r.closing = nil
}

// tried notes the answer to the first call on a new connection.
func (r *Redial) tried(calls []Call, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = time.Now()
	close(r.leaving)
	r.leaving = nil
	if WrongServer(err) {
		r.refuse(calls, err)
	} else {
		r.refused, r.err = nil, nil
	}
}

// note notes a refusal, unless it came on a connection that has been left since for a better one.
func (r *Redial) note(calls []Call, round int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round == r.rounds || len(r.refused) > 0 {
		r.refuse(calls, err)
	}
}

func (r *Redial) refuse(calls []Call, err error) {
	if r.refused == nil {
		r.refused = map[string]bool{}
	}
	for _, call := range calls {
		r.refused[call.Script.SHA] = true
	}
	r.err = err
}
