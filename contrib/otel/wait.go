package holdfastotel

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

const (
	nameKey      = attribute.Key("holdfast.lock.name")
	tokenKey     = attribute.Key("holdfast.lock.token")
	positionKey  = attribute.Key("holdfast.lock.position")
	holderKey    = attribute.Key("holdfast.lock.holder")
	remainingKey = attribute.Key("holdfast.lock.remaining")
	lostKey      = attribute.Key("holdfast.lock.lost")
	reasonKey    = attribute.Key("holdfast.lock.reason")
)

// waits are the calls that wait under a span, by name.
type waits struct {
	mu sync.Mutex // protects of, and each wait in it
	of map[string]map[*wait]struct{}
}

// wait is one call that waits under a span, with its last event.
type wait struct {
	span     trace.Span
	noted    bool
	position int
	holder   string
}

// begin adds the events of a name to span until done is called.
func (w *waits) begin(name string, span trace.Span) (done func()) {
	one := &wait{span: span}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[name] == nil {
		w.of[name] = make(map[*wait]struct{})
	}
	w.of[name][one] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.of[name], one)
		if len(w.of[name]) == 0 {
			delete(w.of, name)
		}
	}
}

// note adds a queued event to the spans that wait for its name, unless it repeats the one
// before.
func (w *waits) note(queued holdfast.Queued) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.of[queued.Name] {
		if one.noted && one.position == queued.Position && one.holder == queued.Holder {
			continue
		}
		one.noted, one.position, one.holder = true, queued.Position, queued.Holder
		one.span.AddEvent("queued", trace.WithAttributes(
			positionKey.Int(queued.Position), holderKey.String(queued.Holder), remainingKey.Float64(queued.Remaining.Seconds())))
	}
}

// kindOf is an error in one word, for error.type.
func kindOf(err error) string {
	for _, kind := range []struct {
		err  error
		word string
	}{
		{holdfast.ErrHeld, "held"},
		{context.Canceled, "canceled"},
		{holdfast.ErrUnreachable, "unreachable"}, // before timeout: such an error can match both
		{context.DeadlineExceeded, "timeout"},
		{holdfast.ErrReplicas, "too_few_replicas"},
		{holdfast.ErrTooSlow, "too_slow"},
		{holdfast.ErrVersion, "version"},
		{holdfast.ErrDeadlock, "deadlock"},
		{holdfast.ErrName, "bad_name"},
		{holdfast.ErrClosed, "closed"},
		{holdfast.ErrLost, "lost"},
	} {
		if errors.Is(err, kind.err) {
			return kind.word
		}
	}
	if _, refused := errors.AsType[driver.ServerError](err); refused {
		return "refused"
	}
	return "_OTHER" // as the convention has it
}
