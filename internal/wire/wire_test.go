package wire_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		reply []string
		want  wire.Answer
	}{
		{[]string{"granted 73 64 2 1 999999"}, wire.Answer{Word: wire.Granted, Base: 10, Size: 64, Waiting: 2, Server: 1_999_999}},
		{[]string{"renewed 0 0 3 1 0 NOPERM of something"}, wire.Answer{Word: wire.Renewed, Base: 1, Waiting: 3, Server: 1_000_000, Refused: "NOPERM of something"}},
		{[]string{"sized 5 granted 64 64 0 1 0"}, wire.Answer{Word: wire.Granted, Base: 1, Size: 64, Server: 1_000_000, Capacity: 5}},
		{[]string{"queued -1 0 1 1 5 1 1 0 1 h"}, wire.Answer{Word: wire.Queued, PTTL: -time.Millisecond, Score: 1, Server: 1_000_005, Inserted: true, Listening: true, Holder: "h"}},
		{[]string{"queued 667 3 1 1 5 0 1 667 3 h uNOPERM"}, wire.Answer{Word: wire.Queued, PTTL: 667 * time.Millisecond, Position: 3, Score: 1, Server: 1_000_005, Listening: true, PollIn: 667 * time.Millisecond, Holder: "h u", Refused: "NOPERM"}},
		{[]string{"released NOPERM"}, wire.Answer{Word: wire.Released, Refused: "NOPERM"}},
		{[]string{"not held", "h", "7"}, wire.Answer{Word: wire.NotHeld, Holder: "h", Server: 7}},
		{[]string{"ours", "15000", "run"}, wire.Answer{Word: wire.Ours, PTTL: 15 * time.Second, Run: "run"}},
		{[]string{"revoked", " too\nlong "}, wire.Answer{Word: wire.Revoked, Reason: "too_long"}},
		{[]string{"too many", "3"}, wire.Answer{Word: wire.TooMany, Capacity: 3}},
		{[]string{"held", "h", "9223372036854775807", "1", "7"}, wire.Answer{Word: wire.Held, Holder: "h", PTTL: 1 << 62 / time.Millisecond * time.Millisecond, Waiting: 1, Server: 7}},
	} {
		if got, err := wire.DecodeAnswer(test.reply); err != nil || got != test.want {
			t.Errorf("%q: got %+v, %v, want %+v", test.reply, got, err, test.want)
		}
	}
}

// The expiry of a foreign key, and the end of the time of a foreign holder, are cut so that no
// duration overflows.
func TestOfMillis(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		-2: wire.NoKey, 1: time.Millisecond,
		9_223_372_036_854_775_807:  1 << 62 / time.Millisecond * time.Millisecond,
		-9_223_372_036_854_775_808: -(1 << 62 / time.Millisecond * time.Millisecond),
	} {
		if got := wire.OfMillis(ms); got != want {
			t.Errorf("%d ms: got %v, want %v", ms, got, want)
		}
	}
}

// A figure out of range is an error, so that no sum of two overflows.
func TestStrangeAnswers(t *testing.T) {
	for _, reply := range [][]string{
		nil, {""}, {"unheard of"}, {"held", "h"}, {"held", "h", "x", "1", "7"},
		{"granted 73 0 0 1 1"}, {"granted 73 5000 0 1 1"}, {"granted 1 64 0 1 1"}, {"granted 9007199254740993 1 0 1 1"},
		{"granted 12345678901234567 1 0 1 1"}, {"granted 73 64 -1 1 1"}, {"queued 1 0 1 1 5 1 1 0 9 h"}, {"notified", "-1", ""},
	} {
		if got, err := wire.DecodeAnswer(reply); err == nil {
			t.Errorf("%q: got %+v, want an error", reply, got)
		}
	}
}

func TestPushes(t *testing.T) {
	const id = "c.n.15000|o w"
	for payload, want := range map[string]wire.Push{
		"grant 100 64 2 1 5 2000 " + id: {Word: wire.PushGrant, ID: id, Base: 37, Size: 64, Waiting: 2, Server: 1_000_005, Window: protocol.ClaimWindow},
		"head -1 " + id:                 {Word: wire.PushHead, ID: id, Base: 1, Window: -time.Millisecond},
		"front 300 " + id:               {Word: wire.PushFront, ID: id, Base: 1, Window: 300 * time.Millisecond},
		"missed " + id:                  {Word: wire.PushMissed, ID: id, Base: 1},
		"recall " + id:                  {Word: wire.PushRecall, ID: id, Base: 1},
		"revoked " + id:                 {Word: wire.PushRevoked, ID: id, Base: 1},
	} {
		if got, err := wire.DecodePush(payload); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", payload, got, err, want)
		}
	}
	for _, payload := range []string{
		"", "grant", "stolen " + id, "recall no id", "head " + id,
		"grant 100 64 2 1 5 2001 " + id, "grant 100 64 2 1 5 0 " + id, "grant 100 0 2 1 5 2000 " + id,
		"grant 100 5000 2 1 5 2000 " + id, "grant 10 64 2 1 5 2000 " + id, "grant 100 64 -2 1 5 2000 " + id,
	} {
		if got, err := wire.DecodePush(payload); err == nil {
			t.Errorf("%q: got %+v, want an error", payload, got)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("granted 73 64 0 1 999999")
	f.Add("renewed 0 0 3 1 0 NOPERM of something")
	f.Add("queued -1 0 1 1 5 1 1 0 1 h")
	f.Add("queued 667 3 1 1 5 0 1 667 3 h uNOPERM of something")
	f.Add("released NOPERM of something")
	f.Add("held\x00h\x00100\x001\x007")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := wire.DecodeAnswer(strings.Split(text, "\x00"))
		if err == nil && (a.Base < 0 || a.Size < 0 || a.Base+a.Size > protocol.MaxToken || a.Server < 0 || a.Position < 0) {
			t.Fatalf("%q reads as %+v", text, a)
		}
	})
}

func FuzzPushes(f *testing.F) {
	f.Add("grant 100 64 0 1 5 2000 c.n.15000|o")
	f.Add("head -1 c.n.15000|o")
	f.Add("recall c.n.15000|o w")
	f.Add("revoked c.n.15000|o")
	f.Fuzz(func(t *testing.T, payload string) {
		m, err := wire.DecodePush(payload)
		if err == nil && m.Word == wire.PushGrant && (m.Size < 1 || m.Base < 0 || m.Server < 0 || m.Window <= 0 || m.Window > protocol.ClaimWindow) {
			t.Fatalf("%q reads as %+v", payload, m)
		}
	})
}

func FuzzStates(f *testing.F) {
	f.Add("state\x001\x00c.n.15000|o\x001\x0015000\x007\x000\x000\x00\x00\x00")
	f.Add("shared\x001\x00semaphore\x005\x003\x009\x001\x000\x001\x00a.b.15000.s3|o\x00100")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = wire.DecodeState(strings.Split(text, "\x00"))
	})
}

// A key of another program may have any expiry: it stays far away and does not become none.
func TestStateOfAFarExpiry(t *testing.T) {
	for _, pttl := range []string{"4611686018428", "9007199254740991", "9223372036854775807"} {
		s, err := wire.DecodeState([]string{"state", "1763700000000000", "foreign", "1", pttl, "0", "0", "", "", "", ""})
		if err != nil || s.PTTL < 100*365*24*time.Hour {
			t.Errorf("%s ms: got %v, %v, want more than a century", pttl, s, err)
		}
	}
}

func TestRevocation(t *testing.T) {
	for name, c := range map[string]struct{ hash, reason, wantHash, wantReason, want string }{
		"both cleaned": {"ABCDEF0123", " a\x00b ", "abcdef0123", "a_b", ""},
		"too short":    {"abcdef", "x", "", "", "ten hexadecimal digits"},
		"no digits":    {"abcdefghij", "x", "", "", "ten hexadecimal digits"},
		"no reason":    {"abcdef0123", "  ", "", "", "a reason is required"},
	} {
		hash, reason, err := wire.Revocation(c.hash, c.reason)
		if hash != c.wantHash || reason != c.wantReason || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %q, %v; want %q, %q, %q", name, hash, reason, err, c.wantHash, c.wantReason, c.want)
		}
	}
}

func TestTenure(t *testing.T) {
	mine, other := "c.n.15000|o", "c.m.15000|o"
	for name, c := range map[string]struct {
		state wire.State
		want  string
	}{
		"of a mutex":        {wire.State{Value: mine, Held: true}, mine},
		"another's":         {wire.State{Value: other, Held: true}, ""},
		"free":              {wire.State{Value: mine}, ""},
		"one of several":    {wire.State{Holders: []wire.HolderState{{ID: other}, {ID: mine}}}, mine},
		"none of several":   {wire.State{Holders: []wire.HolderState{{ID: other}}}, ""},
		"of another client": {wire.State{Value: "x", Held: true}, ""},
	} {
		if got := c.state.Tenure(keyspace.HashID(mine)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Each name of a group gets its part of the answer.
func TestShareOf(t *testing.T) {
	for _, test := range []struct {
		reply []string
		want  [2][]string // of two names; nil: an error
	}{
		{[]string{"granted 1 8", "granted 5 8"}, [2][]string{{"granted 1 8"}, {"granted 5 8"}}},
		{[]string{"not all", "2", "held", "x"}, [2][]string{{"passed"}, {"held", "x"}}},
		{[]string{"granted 1 8"}, [2][]string{}},
	} {
		for i, want := range test.want {
			got, err := wire.ShareOf(test.reply, i, 2)
			if !slices.Equal(got, want) || (err != nil) != (want == nil) {
				t.Errorf("%q: the part of name %d is %q, %v; want %q", test.reply, i, got, err, want)
			}
		}
	}
}
