package holdfastotel

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// scope names the instrumentation library.
const scope = "github.com/holdfast-go/holdfast/contrib/otel"

// Options are the settings of [New]. The zero value means the defaults.
type Options struct {
	// TracerProvider makes the spans. Default: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
}

// Tracing makes spans. Its methods are safe for concurrent use.
type Tracing struct {
	tracer  trace.Tracer
	waiting waits
}

// New makes a Tracing. Nil options mean the defaults.
func New(options *Options) *Tracing {
	provider := otel.GetTracerProvider()
	if options != nil && options.TracerProvider != nil {
		provider = options.TracerProvider
	}
	return &Tracing{tracer: provider.Tracer(scope), waiting: waits{of: make(map[string]map[*wait]struct{})}}
}

// OnEvent adds queued events to the spans that wait for a name. Give it to
// holdfast.Options.OnEvent, or call it from your own OnEvent. Without it, spans
// have no queued events. Events arrive independently of the locks: an event of
// a wait that has just ended is not on its span.
func (t *Tracing) OnEvent(event holdfast.Event) {
	if queued, ok := event.(holdfast.Queued); ok {
		t.waiting.note(queued)
	}
}

// Named is a lock with a name: a *holdfast.Mutex or a *holdfast.RWMutex.
type Named interface {
	holdfast.Locker
	Name() string
}

// Lock calls what.Lock under a span, and returns its results.
func (t *Tracing) Lock(ctx context.Context, what Named) (*holdfast.Lease, error) {
	return t.Acquire(ctx, what.Name(), what.Lock)
}

// Acquire calls acquire under a span. Use it for every call that is not Lock,
// such as
//
//	tracing.Acquire(ctx, mutex.Name(), mutex.TryLock)
//
// acquire gets a context with the span, and Acquire returns its results. If the
// lease is lost while the span of ctx lasts, that span gets the cause.
func (t *Tracing) Acquire(ctx context.Context, name string, acquire func(context.Context) (*holdfast.Lease, error)) (*holdfast.Lease, error) {
	lease, _, err := t.acquire(ctx, name, acquire)
	return lease, err
}

// Locker returns a [holdfast.Locker] that makes a span for each Lock of what.
func (t *Tracing) Locker(what Named) holdfast.Locker { return traced{t, what} }

type traced struct {
	t    *Tracing
	what Named
}

func (l traced) Lock(ctx context.Context) (*holdfast.Lease, error) { return l.t.Lock(ctx, l.what) }

// Do is [holdfast.Do] with a span for the Lock. When Do returns, the span of
// ctx says whether the lease was lost. [Tracing.Lock] cannot promise that for a
// span that ends at the same time as the lease.
func (t *Tracing) Do(ctx context.Context, what Named, f func(ctx context.Context, lease *holdfast.Lease) error) error {
	locker := &once{t: t, what: what}
	err := holdfast.Do(ctx, locker, func(ctx context.Context, lease *holdfast.Lease) error {
		defer func() { locker.note(lease.Err()) }() // f's error may speak of another lease
		return f(ctx, lease)
	})
	locker.note(err)
	return err
}

// once is the Locker of one Do.
type once struct {
	t    *Tracing
	what Named
	note func(error)
}

func (o *once) Lock(ctx context.Context) (lease *holdfast.Lease, err error) {
	lease, o.note, err = o.t.acquire(ctx, o.what.Name(), o.what.Lock)
	return lease, err
}

// acquire is Acquire; note writes to the caller's span how the lease ended, and does nothing
// if that was no loss, or is known.
func (t *Tracing) acquire(ctx context.Context, name string, acquire func(context.Context) (*holdfast.Lease, error)) (lease *holdfast.Lease, note func(error), err error) {
	callers := trace.SpanFromContext(ctx)
	ctx, span := t.tracer.Start(ctx, "acquire", trace.WithAttributes(nameKey.String(name)))
	defer span.End()
	if span.IsRecording() {
		defer t.waiting.begin(name, span)()
	}
	lease, err = acquire(ctx)
	if err != nil {
		failed(span, err)
		return lease, func(error) {}, err
	}
	span.AddEvent("granted", trace.WithAttributes(tokenKey.Int64(lease.Token())))
	return lease, watch(ctx, callers, lease), nil
}

// failed says on a span why there is no lease. That another has the name is an answer
// and no failure.
func failed(span trace.Span, err error) {
	span.SetAttributes(attribute.String("error.type", kindOf(err)))
	if held, ok := errors.AsType[*holdfast.HeldError](err); ok {
		span.AddEvent("held", trace.WithAttributes(
			holderKey.String(held.Owner), remainingKey.Float64(held.Remaining.Seconds())))
		return
	}
	span.SetStatus(codes.Error, err.Error())
}

// watch notes the loss of a lease in the caller's span, once.
func watch(ctx context.Context, callers trace.Span, lease *holdfast.Lease) (note func(error)) {
	if !callers.IsRecording() {
		return func(error) {}
	}
	var told sync.Once
	note = func(err error) {
		lost, ok := errors.AsType[*holdfast.LostError](err)
		if !ok || lost.Cause == holdfast.Exported || lost.Name != lease.Name() || lost.Token != lease.Token() {
			return
		}
		told.Do(func() {
			callers.SetAttributes(lostKey.String(string(lost.Cause)))
			about := []attribute.KeyValue{nameKey.String(lost.Name), tokenKey.Int64(lost.Token), lostKey.String(string(lost.Cause))}
			if lost.Reason != "" {
				about = append(about, reasonKey.String(lost.Reason))
			}
			callers.AddEvent("lost", trace.WithAttributes(about...))
		})
	}
	over := lease.Context(context.WithoutCancel(ctx)) // ends with the lease, and with nothing else
	context.AfterFunc(over, func() { note(context.Cause(over)) })
	return note
}
