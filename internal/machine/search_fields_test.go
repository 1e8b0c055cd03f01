package machine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/lifetime"
)

// keyFields are the fields of what a Client has: those that the key of a state has, and those
// that it leaves out. Left out is what names things (ids, keys), what only tells (errors, events,
// statistics), what points back, and what the bounds do not use: kinds of their own, MinHold,
// MaxHold, WaitReplicas, a Cluster, a quorum, RepairOrphans, Close, pushes with forged tokens.
var keyFields = []struct {
	of      reflect.Type
	in, out string
}{
	{reflect.TypeFor[Client](),
		"Schedule Closed names tenures givenUpIDs endedIDs sub NetFailed netFailureOver renewedAllAt noPushUntil cleanups cancels",
		"Settings Host Random NotBefore ClientID idPrefix defaultKind lastDedicated coolDowns exportedIDs remembered reportedSizes sharedSubs LastAnswer awaitedIDs LateCleanups answered contacts"},
	{reflect.TypeFor[Name](),
		"waiters tenure turn askAt failingSince seen listed timer",
		"client key Text Kind Keys shard sub nextOnSub prevOnSub lastErr backoff unacknowledgedSince NotBatched orphan Place contact ownContact"},
	{reflect.TypeFor[Tenure](),
		"ID name phase Lifetime whileAsked whileHolding whileReleasing openLocks mayRunLate tokens servesUpTo", "Replicas"},
	{reflect.TypeFor[lifetime.Lifetime](),
		"deadline Expiry LingerUntil RenewAt TTL Failures VerifySince", "Terms CoolUntil ChecksOnly keptUntil longest required plainRenewal"},
	{reflect.TypeFor[whileAsked](), "asking firstSent mayBeStored foundHeld arrival clockPair pollBy requeue earlyRecall lateGrantAt", "group"},
	{reflect.TypeFor[whileHolding](),
		"renewal acknowledged recallSure toppedUp turns", "renewKeys reservations fenceRenewedAt pushed"},
	{reflect.TypeFor[whileReleasing](), "unlocking successor awaitedTurn releaseDeadline", "unlocks"},
	{reflect.TypeFor[Turn](), "Name Tenure since removal shares Ended", "Token until grace"},
	{reflect.TypeFor[Request](),
		"Call Name Tenure Sent Attempt Unsent reserving NoFallback OnAnswer",
		"locks hasPlace SharesLimit Renews Replicas renewal reserves fence weight Part Waits HeldUntil Parts Acked Connected"},
	{reflect.TypeFor[cleanup](), "call until wait timer asking lockKeyOnly repeatAfter answered", "client name coolUntil removal"},
	{reflect.TypeFor[Subscriber](), "wanted Confirmed failed sentAt confirmedAt attempt resubscribing", "client Channel first"},
	{reflect.TypeFor[LocalWaiter](), "Try number after", "Name since Limits Call listed prev"},
}

// A field that is added has to come into the key, or to be left out for a reason.
func TestKeyHasEveryField(t *testing.T) {
	for _, k := range keyFields {
		known := map[string]bool{}
		for _, f := range strings.Fields(k.in + " " + k.out) {
			known[f] = true
		}
		for i := range k.of.NumField() {
			name := k.of.Field(i).Name
			if !known[name] {
				t.Errorf("%v.%s: it stands neither in the key of a searched state nor among what that leaves out, see search_key_client_test.go", k.of, name)
			}
			delete(known, name)
		}
		for name := range known {
			t.Errorf("%v has no field %s", k.of, name)
		}
	}
	if got, want := reflect.TypeFor[blocks]().NumField(), 6; got != want {
		t.Errorf("tokens.Blocks: %d fields, want %d", got, want)
	}
}
