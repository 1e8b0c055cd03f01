// Package eventlog writes what holdfast does to a slog.Logger, in fields that are named
// as the labels of the metrics and the attributes of the traces are. It needs the
// standard library and nothing else.
package eventlog

import (
	"context"
	"log/slog"

	"github.com/holdfast-go/holdfast"
)

// Options are the settings of a log. The zero value means the defaults.
type Options struct {
	// Class is that of a name in the metrics, and becomes the field class. Default: no
	// such field.
	Class func(name string) string
}

// New makes a function for holdfast.Options.OnEvent, or to be called from there, that
// logs every event. What went wrong is a warning: a lease lost, but for one that this
// program ended by Close, Export or MaxHold; a renewal that failed, a subscription that
// broke, a key repaired, a semaphore of another size than was stated, events dropped. Leases that begin and end are of level Info, all
// else of level Debug. Nil options are good defaults.
//
// Fields: name, class, token, source, cause, reason, position, holder, replicas, error, n, stated, size;
// waited, held, remaining as a slog duration; slack, the share of the life that was left.
func New(logger *slog.Logger, options *Options) func(holdfast.Event) {
	var class func(string) string
	if options != nil {
		class = options.Class
	}
	return func(event holdfast.Event) {
		level, message, name, fields := describe(event)
		if message == "" || !logger.Enabled(context.Background(), level) {
			return
		}
		var about []slog.Attr
		if name != "" {
			about = append(about, slog.String("name", name))
			if class != nil {
				about = append(about, slog.String("class", class(name)))
			}
		}
		logger.LogAttrs(context.Background(), level, "holdfast: "+message, append(about, fields...)...)
	}
}

func describe(event holdfast.Event) (level slog.Level, message, name string, fields []slog.Attr) {
	switch e := event.(type) {
	case holdfast.Queued:
		return slog.LevelDebug, "waits in line", e.Name, []slog.Attr{slog.Int("position", e.Position), slog.String("holder", e.Holder), slog.Duration("remaining", e.Remaining)}
	case holdfast.Granted:
		return slog.LevelInfo, "granted", e.Name, []slog.Attr{slog.Int64("token", e.Token), slog.String("source", string(e.Source)), slog.Duration("waited", e.Waited)}
	case holdfast.Released:
		return slog.LevelInfo, "released", e.Name, []slog.Attr{slog.Int64("token", e.Token), slog.Duration("held", e.Held)}
	case holdfast.Lost:
		fields = []slog.Attr{slog.Int64("token", e.Token), slog.String("cause", string(e.Cause)), slog.Duration("held", e.Held)}
		if e.Reason != "" {
			fields = append(fields, slog.String("reason", e.Reason))
		}
		return levelOf(e.Cause), "lease lost", e.Name, fields
	case holdfast.Renewed:
		return slog.LevelDebug, "renewed", e.Name, []slog.Attr{slog.Duration("remaining", e.Remaining), slog.Float64("slack", e.Slack), slog.Int("replicas", e.Replicas)}
	case holdfast.RenewFailed:
		return slog.LevelWarn, "renewal failed", e.Name, []slog.Attr{slog.Duration("remaining", e.Remaining), slog.Float64("slack", e.Slack), slog.Any("error", e.Err)}
	case holdfast.Recalled:
		return slog.LevelDebug, "another process waits", e.Name, nil
	case holdfast.SizeMismatch:
		return slog.LevelWarn, "a semaphore has another size than this program asked for", e.Name, []slog.Attr{slog.Int("asked", e.Asked), slog.Int("actual", e.Actual)}
	case holdfast.Repaired:
		return slog.LevelWarn, "a key without expiry was given one", e.Name, nil
	case holdfast.SubscriptionConfirmed:
		return slog.LevelDebug, "subscription confirmed", "", nil
	case holdfast.SubscriptionBroken:
		return slog.LevelWarn, "subscription broke", "", []slog.Attr{slog.Any("error", e.Err)}
	case holdfast.Dropped:
		return slog.LevelWarn, "events dropped", "", []slog.Attr{slog.Int("n", e.N)}
	}
	return 0, "", "", nil
}

// levelOf is how bad a loss is.
func levelOf(cause holdfast.Cause) slog.Level {
	switch cause {
	case holdfast.Closed, holdfast.Exported, holdfast.MaxHold:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}
