// Package holdfastotel puts what holdfast does into OpenTelemetry traces: a span for
// each wait for a lease, with what happened in line, and the cause of a loss on the span
// of who lost it.
//
//	acquire, the span of one Lock
//	  holdfast.lock.name           the name
//	  error.type                   where it failed: held, unreachable, canceled, ...
//	  event queued                 once, and whenever something changed in front:
//	    holdfast.lock.position       0 is the head
//	    holdfast.lock.holder         its label; empty when foreign
//	    holdfast.lock.remaining      seconds, of the holder in Redis; negative: no expiry
//	  event granted
//	    holdfast.lock.token          the fence token
//	  event held                   a TryLock that was refused, with the holder as above
//	the caller's span, if its lease is lost while it lasts
//	  holdfast.lock.lost           the cause: expired, taken, gone, revoked, stolen, ...
//	  event lost                   with name, token, cause, and the reason that was given
//
// OpenTelemetry has conventions for none of these but error.type. Traces may bear names,
// of which there may be millions; metrics may not, see contrib/prometheus.
//
// It costs no round trip. Where a trace is not sampled it costs next to nothing.
package holdfastotel
