package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/contrib/eventlog"
	"github.com/holdfast-go/holdfast/embedded"
)

// Every event becomes one line, with its level and its fields.
func TestEveryEventIsALine(t *testing.T) {
	var log bytes.Buffer
	note := eventlog.New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), &eventlog.Options{
		Class: func(name string) string { return "class-of-" + name },
	})
	for _, c := range []struct {
		event holdfast.Event
		want  []string
	}{
		{holdfast.Queued{Name: "n", Position: 3, Holder: "A", Remaining: time.Second}, []string{"DEBUG", "name=n", "class=class-of-n", "position=3", "holder=A", "remaining=1s"}},
		{holdfast.Granted{Name: "n", Token: 7, Waited: time.Second, Source: holdfast.SourcePush}, []string{"INFO", "token=7", "waited=1s", "source=push"}},
		{holdfast.Released{Name: "n", Token: 7, Held: time.Second}, []string{"INFO", "token=7", "held=1s"}},
		{holdfast.Lost{Name: "n", Token: 7, Cause: holdfast.Stolen, Reason: "why not", Held: time.Second}, []string{"WARN", "cause=stolen", `reason="why not"`, "held=1s"}},
		{holdfast.LeaseExported{Name: "n", Token: 7, Held: time.Second}, []string{"INFO", "exported", "token=7", "held=1s"}},
		{holdfast.ExportReleased{Name: "n", Token: 7, Owner: "A"}, []string{"INFO", "released", "token=7", "holder=A"}},
		{holdfast.Lost{Name: "n", Cause: holdfast.Closed}, []string{"INFO", "cause=closed"}},
		{holdfast.Renewed{Name: "n", Remaining: time.Second, Slack: 0.5, Replicas: 2}, []string{"DEBUG", "remaining=1s", "slack=0.5", "replicas=2"}},
		{holdfast.RenewFailed{Name: "n", Err: errors.New("late"), Slack: 0.25}, []string{"WARN", "error=late", "slack=0.25"}},
		{holdfast.Recalled{Name: "n"}, []string{"DEBUG", "name=n"}},
		{holdfast.SizeMismatch{Name: "n", Asked: 4, Actual: 8}, []string{"WARN", "name=n", "asked=4", "actual=8"}},
		{holdfast.Repaired{Name: "n"}, []string{"WARN", "name=n"}},
		{holdfast.SubscriptionConfirmed{}, []string{"DEBUG"}},
		{holdfast.SubscriptionBroken{Err: errors.New("cut")}, []string{"WARN", "error=cut"}},
		{holdfast.Dropped{N: 9}, []string{"WARN", "n=9"}},
	} {
		log.Reset()
		note(c.event)
		line := log.String()
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%#v: got %q, want one line", c.event, line)
		}
		for _, want := range c.want {
			if !strings.Contains(line, want) {
				t.Errorf("%#v: got %q, want %s in it", c.event, line, want)
			}
		}
	}
}

// Leases that begin and end are logged; renewals and looks only at level Debug.
func Example() {
	store, err := embedded.Open(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	plain := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "time" || a.Key == "token" || a.Key == "waited" || a.Key == "held" {
			return slog.Attr{} // which differ from run to run
		}
		return a
	}}))

	note, told := eventlog.New(plain, nil), make(chan bool, 2)
	client := holdfast.New(store, &holdfast.Options{OnEvent: func(event holdfast.Event) {
		note(event)
		told <- true
	}})
	defer client.Close()
	lease, err := client.Mutex("invoice:42").Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := lease.Release(); err != nil {
		fmt.Println(err)
	}
	<-told // events come beside the locks
	<-told
	// Output:
	// level=INFO msg="holdfast: granted" name=invoice:42 source=answer
	// level=INFO msg="holdfast: released" name=invoice:42
}
