package holdfast_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// A TokenMemory that is out of bounds is a mistake of the program.
func TestTokenMemoryIsValidated(t *testing.T) {
	for memory, want := range map[time.Duration]bool{
		0: true, time.Minute: true, time.Hour: true, 25 * time.Hour: true,
		-time.Minute: false, time.Minute - time.Millisecond: false, 25*time.Hour + time.Millisecond: false, time.Minute + time.Microsecond: false,
	} {
		ok := func() (ok bool) {
			defer func() { ok = recover() == nil }()
			store := refusing{func(driver.Call) string { return "ERR" }}
			return holdfast.New(store, &holdfast.Options{TokenMemory: memory}).Close() == nil
		}()
		if ok != want {
			t.Errorf("%v: allowed is %v, want %v", memory, ok, want)
		}
	}
}
