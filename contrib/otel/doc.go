// Package holdfastotel records holdfast in OpenTelemetry traces. It makes a
// span for each wait for a lease, with what happened in the queue. It puts the
// cause of a loss on the span of the caller that lost the lease.
//
//	acquire, the span of one Lock
//	  holdfast.lock.name           the name
//	  error.type                   where it failed: held, unreachable, canceled, ...
//	  event queued                 once, and at each change in front of the waiter:
//	    holdfast.lock.position       0 is the head
//	    holdfast.lock.holder         its label; empty for a client of another library
//	    holdfast.lock.remaining      seconds until the lock expires; negative: no expiry
//	  event granted
//	    holdfast.lock.token          the fencing token
//	  event held                   a TryLock that was refused, with the holder as above
//	the caller's span, if its lease is lost while the span lasts
//	  holdfast.lock.lost           the cause: expired, taken, gone, revoked, stolen, ...
//	  event lost                   with name, token, cause, and the reason that was given
//
// OpenTelemetry has a convention only for error.type. Traces may contain names;
// metrics may not, because there may be millions of them: see
// contrib/prometheus.
//
// Tracing costs no round trip. A trace that is not sampled costs nearly
// nothing.
package holdfastotel
