package holdfastotel_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	holdfastotel "github.com/holdfast-go/holdfast/contrib/otel"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const patience = 30 * time.Second

// traced is a process whose spans are recorded.
type traced struct {
	spans   *tracetest.SpanRecorder
	tracer  trace.Tracer
	tracing *holdfastotel.Tracing
	client  *holdfast.Client
}

func process(t *testing.T, store driver.Store, owner string, ttl time.Duration) *traced {
	t.Helper()
	p := &traced{spans: tracetest.NewSpanRecorder()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p.spans))
	p.tracer = provider.Tracer("test")
	p.tracing = holdfastotel.New(&holdfastotel.Options{TracerProvider: provider})
	p.client = holdfast.New(store, &holdfast.Options{Owner: owner, TTL: ttl, OnEvent: p.tracing.OnEvent})
	t.Cleanup(func() { p.client.Close() })
	return p
}

func embed(t *testing.T) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// ended waits for the span of a name that has ended.
func (p *traced) ended(t *testing.T, span string) sdktrace.ReadOnlySpan {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, s := range p.spans.Ended() {
			if s.Name() == span {
				return s
			}
		}
	}
	t.Fatalf("span %s has not ended", span)
	return nil
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so in time: %s", what)
		}
	}
}

func events(s sdktrace.ReadOnlySpan) (names []string) {
	for _, e := range s.Events() {
		names = append(names, e.Name)
	}
	return names
}

// about is an attribute of a span, or of its event of that name.
func about(s sdktrace.ReadOnlySpan, event, key string) attribute.Value {
	attributes := s.Attributes()
	for _, e := range s.Events() {
		if e.Name == event {
			attributes = e.Attributes
		}
	}
	for _, a := range attributes {
		if string(a.Key) == key {
			return a.Value
		}
	}
	return attribute.Value{}
}

// The span of a wait is a child of the caller's, and has who was in front and the token.
func TestSpanOfAWait(t *testing.T) {
	store := embed(t)
	a, b := process(t, store, "A", time.Minute), process(t, store, "B", time.Minute)
	first, err := a.tracing.Lock(t.Context(), a.client.Mutex("n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := events(a.ended(t, "acquire")); !slices.Equal(got, []string{"granted"}) {
		t.Errorf("events of a lock of a free name: got %v, want granted", got)
	}

	ctx, callers := b.tracer.Start(t.Context(), "caller")
	defer callers.End()
	came := make(chan *holdfast.Lease)
	go func() {
		lease, err := b.tracing.Lock(ctx, b.client.Mutex("n"))
		if err != nil {
			t.Error(err)
		}
		came <- lease
	}()
	eventually(t, "the queued event is on the span", func() bool {
		return slices.ContainsFunc(b.spans.Started(), func(s sdktrace.ReadWriteSpan) bool { return len(s.Events()) > 0 })
	})
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second := <-came
	s := b.ended(t, "acquire")
	if got, want := s.Parent().SpanID(), callers.SpanContext().SpanID(); got != want {
		t.Errorf("parent: got %v, want the caller's %v", got, want)
	}
	if got := events(s); !slices.Equal(got, []string{"queued", "granted"}) {
		t.Errorf("events: got %v, want queued, granted", got)
	}
	for _, want := range []struct {
		event, key string
		value      attribute.Value
	}{
		{"", "holdfast.lock.name", attribute.StringValue("n")},
		{"queued", "holdfast.lock.holder", attribute.StringValue("A")},
		{"queued", "holdfast.lock.position", attribute.IntValue(0)},
		{"granted", "holdfast.lock.token", attribute.Int64Value(second.Token())},
	} {
		if got := about(s, want.event, want.key); got != want.value {
			t.Errorf("%s %s: got %v, want %v", want.event, want.key, got.String(), want.value.String())
		}
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
}

// A lock that fails says why in one word; that another has the name is no failure.
func TestSpanOfAFailure(t *testing.T) {
	store := embed(t)
	connection := store.Connect()
	a, b := process(t, store, "A", time.Minute), process(t, connection, "B", time.Minute)
	lease, err := a.client.Mutex("n").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := b.client.Mutex("n")
	if _, err := b.tracing.Acquire(t.Context(), m.Name(), m.TryLock); !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("got %v, want ErrHeld", err)
	}
	s := b.ended(t, "acquire")
	if got := about(s, "", "error.type").AsString(); got != "held" {
		t.Errorf("error.type: got %q, want held", got)
	}
	if got := about(s, "held", "holdfast.lock.holder").AsString(); got != "A" || s.Status().Code != codes.Unset {
		t.Errorf("got holder %q and status %v, want A and Unset", got, s.Status())
	}
	b.spans.Reset()

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.tracing.Lock(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the end of ctx", err)
	}
	s = b.ended(t, "acquire")
	if got := about(s, "", "error.type").AsString(); got != "timeout" || s.Status().Code != codes.Error {
		t.Errorf("got error.type %q and status %v, want timeout and Error", got, s.Status())
	}
	b.spans.Reset()

	time.Sleep(200 * time.Millisecond) // until what the first call left is removed
	connection.Disconnect()
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := b.tracing.Lock(ctx, m); !errors.Is(err, holdfast.ErrUnreachable) {
		t.Fatalf("got %v, want ErrUnreachable", err)
	}
	if got := about(b.ended(t, "acquire"), "", "error.type").AsString(); got != "unreachable" {
		t.Errorf("got error.type %q, want unreachable", got)
	}
	connection.Reconnect()
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

// The caller's span says why its lease was lost, once, by Do and by Lock; a lease that
// was released leaves no word there.
func TestCauseOfLossIsOnTheCallersSpan(t *testing.T) {
	store := embed(t)
	p := process(t, store, "A", time.Minute)
	lose := func(ctx context.Context, lease *holdfast.Lease) error {
		state, err := admin.Of(p.client).Inspect(ctx, lease.Name())
		if err != nil {
			return err
		}
		if err := admin.Of(p.client).Steal(ctx, lease.Name(), state.Holder.Hash, "out of turn"); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	by := map[string]func(context.Context) error{
		"Do": func(ctx context.Context) error { return p.tracing.Do(ctx, p.client.Mutex("n"), lose) },
		"Locker": func(ctx context.Context) error {
			return holdfast.Do(ctx, p.tracing.Locker(p.client.Mutex("n")), lose)
		},
	}
	for name, do := range by {
		p.spans.Reset()
		ctx, callers := p.tracer.Start(t.Context(), "caller")
		if err := do(ctx); !errors.Is(err, holdfast.ErrLost) {
			t.Fatalf("%s: got %v, want ErrLost", name, err)
		}
		if name != "Do" { // which has told already
			eventually(t, "it is told", func() bool { return len(callers.(sdktrace.ReadOnlySpan).Events()) > 0 })
		}
		callers.End()
		s := p.ended(t, "caller")
		if got := events(s); !slices.Equal(got, []string{"lost"}) {
			t.Errorf("%s: events: got %v, want lost, once", name, got)
		}
		if got, reason := about(s, "none", "holdfast.lock.lost").AsString(), about(s, "lost", "holdfast.lock.reason").AsString(); got != "stolen" || reason != "out of turn" {
			t.Errorf("%s: got cause %q, reason %q, want stolen, out of turn", name, got, reason)
		}
	}

	p.spans.Reset()
	ctx, callers := p.tracer.Start(t.Context(), "caller")
	if err := p.tracing.Do(ctx, p.client.Mutex("n"), func(context.Context, *holdfast.Lease) error { return nil }); err != nil {
		t.Fatal(err)
	}
	callers.End()
	if s := p.ended(t, "caller"); len(s.Events()) > 0 || len(s.Attributes()) > 0 {
		t.Errorf("after a release: got %v, %v, want nothing", s.Events(), s.Attributes())
	}

	p.spans.Reset()
	ctx, callers = p.tracer.Start(t.Context(), "caller")
	if err := p.tracing.Do(ctx, p.client.Mutex("n"), func(_ context.Context, lease *holdfast.Lease) error {
		_, err := lease.Export()
		return err
	}); err != nil && !errors.Is(err, holdfast.ErrLost) {
		t.Fatal(err)
	}
	callers.End()
	if s := p.ended(t, "caller"); len(s.Events()) > 0 || len(s.Attributes()) > 0 {
		t.Errorf("after an export: got %v, %v, want nothing", s.Events(), s.Attributes())
	}
}

// What f says of another lease is not put down to this one.
func TestLossOfAnotherLeaseIsNotNoted(t *testing.T) {
	p := process(t, embed(t), "A", time.Minute)
	ctx, callers := p.tracer.Start(t.Context(), "caller")
	other := &holdfast.LostError{Name: "other", Token: 1, Cause: holdfast.Taken}
	if err := p.tracing.Do(ctx, p.client.Mutex("n"), func(context.Context, *holdfast.Lease) error { return other }); !errors.Is(err, holdfast.ErrLost) {
		t.Fatalf("got %v, want what f returned", err)
	}
	callers.End()
	if s := p.ended(t, "caller"); len(s.Events()) > 0 {
		t.Errorf("events: got %v, want none", events(s))
	}
}

// A span that ends when Do returns has the loss, also where nobody else had the time to
// tell it: MaxHold ends the lease while f runs on.
func TestDoNotesBeforeItReturns(t *testing.T) {
	p := process(t, embed(t), "A", time.Minute)
	mutex := p.client.Mutex("n")
	mutex.MaxHold = time.Millisecond
	for range 100 {
		ctx, callers := p.tracer.Start(t.Context(), "caller")
		err := p.tracing.Do(ctx, mutex, func(_ context.Context, lease *holdfast.Lease) error {
			for lease.Err() == nil { // which knows first
				runtime.Gosched()
			}
			return nil
		})
		callers.End()
		if !errors.Is(err, holdfast.ErrLost) {
			t.Fatalf("got %v, want ErrLost", err)
		}
		if s := p.ended(t, "caller"); !slices.Equal(events(s), []string{"lost"}) {
			t.Fatalf("events: got %v, want lost", events(s))
		}
		p.spans.Reset()
	}
}

// Leases leave no goroutine behind, however they end.
func TestNothingIsLeftBehind(t *testing.T) {
	p := process(t, embed(t), "A", time.Minute)
	warm := func() {
		ctx, span := p.tracer.Start(t.Context(), "caller")
		defer span.End()
		lease, err := p.tracing.Lock(ctx, p.client.Mutex("n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	warm()
	before := runtime.NumGoroutine()
	for range 200 {
		warm()
	}
	eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+2 }) // workers may be idle
}
