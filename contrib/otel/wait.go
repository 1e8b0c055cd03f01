package holdfastotel

import (
	"context"
	"errors"

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

// wait is one call that waits under a span. Guarded by its Tracing's mutex.
type wait struct {
	span     trace.Span
	told     bool
	position int
	holder   string
}

// waits has a span told what happens in line until done is called.
func (t *Tracing) waits(name string, span trace.Span) (done func()) {
	w := &wait{span: span}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[name] == nil {
		t.waiting[name] = make(map[*wait]struct{})
	}
	t.waiting[name][w] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waiting[name], w)
		if len(t.waiting[name]) == 0 {
			delete(t.waiting, name)
		}
	}
}

// OnEvent adds queued events to the spans that wait for a name. Give it to
// holdfast.Options.OnEvent, or call it from your own OnEvent. Without it, spans
// have no queued events. Events arrive independently of the locks: an event of
// a wait that has just ended is not on its span.
func (t *Tracing) OnEvent(event holdfast.Event) {
	queued, ok := event.(holdfast.Queued)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.waiting[queued.Name] {
		if w.told && w.position == queued.Position && w.holder == queued.Holder {
			continue // it looked again
		}
		w.told, w.position, w.holder = true, queued.Position, queued.Holder
		w.span.AddEvent("queued", trace.WithAttributes(
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
		{context.DeadlineExceeded, "timeout"},
		{holdfast.ErrUnreachable, "unreachable"},
		{holdfast.ErrReplicas, "too_few_replicas"},
		{holdfast.ErrTooSlow, "too_slow"},
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
