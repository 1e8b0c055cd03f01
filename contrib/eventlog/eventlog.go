// Package eventlog writes the events of holdfast to a slog.Logger. Its fields
// have the names of the metric labels and of the trace attributes. It needs
// only the standard library.
package eventlog

import (
	"context"
	"log/slog"

	"github.com/holdfast-go/holdfast"
)

// Options are the settings of [New]. The zero value means the defaults.
type Options struct {
	// Class returns the class of a name, as in the metrics. It becomes the
	// field class. Default: no such field.
	Class func(name string) string
}

// New returns a function for holdfast.Options.OnEvent that logs every event.
// You can also call the function from your own OnEvent. Nil options mean the
// defaults.
//
// Levels:
//
//   - Warn: a lease that was lost, a renewal that failed, a subscription that
//     broke, a repaired key, a semaphore of another size than stated, dropped
//     events. A lease that this program ended by Close or MaxHold is no warning.
//   - Info: the begin and the end of a lease, also by an export.
//   - Debug: every other event.
//
// Fields: name, class, token, source, cause, reason, position, holder,
// replicas, error, n, asked, actual. The fields waited, held and remaining are
// slog durations. slack is the share of the TTL that was left.
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
		return slog.LevelDebug, "waiting", e.Name, []slog.Attr{slog.Int("position", e.Position), slog.String("holder", e.Holder), slog.Duration("remaining", e.Remaining)}
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
	case holdfast.LeaseExported:
		return slog.LevelInfo, "exported", e.Name, []slog.Attr{slog.Int64("token", e.Token), slog.Duration("held", e.Held)}
	case holdfast.ExportReleased:
		return slog.LevelInfo, "exported lease released", e.Name, []slog.Attr{slog.Int64("token", e.Token), slog.String("holder", e.Owner)}
	case holdfast.Renewed:
		return slog.LevelDebug, "renewed", e.Name, []slog.Attr{slog.Duration("remaining", e.Remaining), slog.Float64("slack", e.Slack), slog.Int("replicas", e.Replicas)}
	case holdfast.RenewFailed:
		return slog.LevelWarn, "renewal failed", e.Name, []slog.Attr{slog.Duration("remaining", e.Remaining), slog.Float64("slack", e.Slack), slog.Any("error", e.Err)}
	case holdfast.Recalled:
		return slog.LevelDebug, "recalled: another process waits", e.Name, nil
	case holdfast.SizeMismatch:
		return slog.LevelWarn, "semaphore has another size", e.Name, []slog.Attr{slog.Int("asked", e.Asked), slog.Int("actual", e.Actual)}
	case holdfast.Repaired:
		return slog.LevelWarn, "key without expiry repaired", e.Name, nil
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
	case holdfast.Closed, holdfast.MaxHold:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}
