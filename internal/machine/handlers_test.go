package machine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/lifetime"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// wordsOf returns what scripts answer, by the first lines of their files.
func wordsOf(scripts ...*driver.Script) (words []wire.Word) {
	for _, f := range script.All() {
		if !slices.Contains(scripts, f.Script) {
			continue
		}
		answers := regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(f.Answers, "")
		for w := wire.NoWord + 1; w < wire.Split; w++ {
			if regexp.MustCompile(`(^|, |; |also |and )` + w.String() + `\b`).MatchString(answers) {
				words = append(words, w)
			}
		}
	}
	return words
}

// Each answer to a lock, a renewal, a check and an unlock has a handler: only what its scripts do not
// answer is an error. A cleanup needs none, because each answer shows that it ran.
func TestEachAnswerHasAHandler(t *testing.T) {
	for _, test := range []struct {
		request string
		scripts []*driver.Script
		noRenew bool
		inputs  []input
	}{
		{"lock", []*driver.Script{script.Lock, script.SharedLock, script.Adopt, script.Take, script.OnceLock}, false, []input{enter("a")}},
		{"renew", []*driver.Script{script.Renew, script.SharedRenew, script.RenewKeyOnly, script.SharedRenewKeyOnly}, false,
			[]input{enter("a"), answer("lock", granted(1, 8)), pushed(wire.PushRevoked, "#1")}},
		{"held", []*driver.Script{script.Held, script.SharedHeld}, true,
			[]input{enter("a"), answer("lock", granted(1, 8)), pushed(wire.PushRevoked, "#1")}},
		{"unlock", []*driver.Script{script.Unlock, script.SharedUnlock, script.Cooldown, script.UnlockKeyOnly, script.SharedUnlockKeyOnly}, false,
			[]input{enter("a"), answer("lock", granted(1, 8)), release("a")}},
	} {
		known := wordsOf(test.scripts...)
		for w := wire.NoWord + 1; w <= wire.TooSlow; w++ {
			y := newPlay(t, Settings{})
			y.kind = &Kind{Terms: lifetime.Terms{TTL: y.p.TTL, NoRenew: test.noRenew}}
			confirmed(y)
			for _, in := range test.inputs {
				y.after(in)
			}
			r := y.request(test.request)
			y.after(answer(test.request, wire.Answer{Word: w, Base: 1, Size: 8}))
			said := fmt.Sprint(r.Name.lastErr, y.h.answers[r], y.h.events)
			if got, want := !strings.Contains(said, "was answered"), slices.Contains(known, w); got != want {
				t.Errorf("%s is answered %q: handled %v, want %v", test.request, w, got, want)
			}
		}
	}
}
