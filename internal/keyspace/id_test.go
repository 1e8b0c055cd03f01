package keyspace

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/protocol"
)

func TestParseID(t *testing.T) {
	mutex := ID{Client: "c-1", TTL: 15 * time.Second, Owner: "host:1"}
	semaphore := mutex
	semaphore.Letter, semaphore.Weight = Permits, 3
	for value, want := range map[string]ID{
		"c-1.n_2.15000|host:1": mutex, "c-1.n_2.15000.s3|host:1": semaphore,
		"c.n.1|": {Client: "c", TTL: time.Millisecond}, "c.n.1|a|b\n": {Client: "c", TTL: time.Millisecond, Owner: "a_b"},
		"": {}, "cooldown|x": {}, "c.n.15000": {}, "c.n|o": {}, "c.n.0|o": {}, "c.n.007|o": {}, "c.n.1234567890|o": {}, "c.n.+5|o": {}, "c.n.5.6|o": {}, "c.n.5.s|o": {},
		"c.n.5.s0|o": {}, "c.n.5.s+1|o": {}, "c.n.5.x1|o": {}, "c.n.5.|o": {}, "c.n.5.s1.s1|o": {}, ".n.5|o": {}, "c.ä.5|o": {},
		"c.n.4294967296|o": {}, "c.n.5.s4294967296|o": {},
	} {
		if got, ok := ParseID(value); got != want || ok != (want.Client != "") {
			t.Errorf("%q: got %+v, %v, want %+v", value, got, ok, want)
		}
	}
}

func TestNewIDsAreRead(t *testing.T) {
	n := uint64(0)
	random := func() uint64 { n++; return n * 0x9e3779b97f4a7c15 }
	client := NewClientID(random)
	first := NewID(client+".", random, Suffix(time.Minute, "o"))
	second := NewID(client+".", random, SharedSuffix(time.Minute, Writer, 1<<30, "o"))
	if got, _ := ParseID(first); got != (ID{Client: client, TTL: time.Minute, Owner: "o"}) {
		t.Errorf("%q reads as %+v", first, got)
	}
	if got, _ := ParseID(second); got != (ID{client, time.Minute, "o", Writer, 1 << 30}) {
		t.Errorf("%q reads as %+v", second, got)
	}
	one, other := NewID(client+".", random, ""), NewID(client+".", random, "")
	if len(client) != 22 || one == other {
		t.Errorf("the client %q has not 128 bits, or two ids are the same", client)
	}
}

func TestHashesShowNoID(t *testing.T) {
	if got := HashID("c.n.15000|o"); len(got) != 10 || strings.Trim(got, "0123456789abcdef") != "" || got == HashID("c.n.15000|p") {
		t.Errorf("hash of an id: got %q, want 10 hex digits that another id does not have", got)
	}
	if got := HashClient(""); got != "" {
		t.Errorf("hash of no client: got %q, want none", got)
	}
}

func TestOtherVersion(t *testing.T) {
	for value, want := range map[string]int{
		"v2|": 2, "v2|c.n.5|o": 2, "v10|123": 10, "v1|x": 1, "v2|c.n.5|o:77": 2,
		"": 0, "c.n.5|o": 0, "cooldown|v2|": 0, "v2": 0, "v|x": 0, "v2.0|x": 0, "v+2|x": 0, "v4294967296|x": 0, "123": 0, "123 c": 0,
	} {
		if got := OtherVersion(value); got != want {
			t.Errorf("%q: got %d, want %d", value, got, want)
		}
		if _, ours := ParseID(value); ours && want > 0 {
			t.Errorf("%q reads as an id of this version", value)
		}
	}
}

func TestCooldown(t *testing.T) {
	for value, want := range map[string]string{"cooldown|host:1": "host:1", "cooldown|a|b": "a_b", "cooldown": "none", "c.n.5|cooldown|": "none", "": "none"} {
		got, ok := CooldownOwner(value)
		if !ok {
			got = "none"
		}
		if got != want || ok != IsCooldown(value) {
			t.Errorf("%q: got the owner %q, want %q", value, got, want)
		}
	}
}

func TestTokenBehindAnID(t *testing.T) {
	for value, want := range map[string]struct {
		id    string
		token int64
	}{
		"c.n.5|o:77":               {"c.n.5|o", 77},
		"c.n.5|host:1:77":          {"c.n.5|host:1", 77},
		"c.n.5|o":                  {"c.n.5|o", 0},
		"c.n.5|host:x":             {"c.n.5|host:x", 0},
		"c.n.5|o:0":                {"c.n.5|o:0", 0},
		"c.n.5|o:9007199254740992": {"c.n.5|o:9007199254740992", 0},
		"77":                       {"77", 0},
	} {
		if id, token := WithoutToken(value), TokenOf(value); id != want.id || token != want.token {
			t.Errorf("%q: got %q and %d, want %q and %d", value, id, token, want.id, want.token)
		}
	}
}

func FuzzIDs(f *testing.F) {
	f.Add("abc.def.15000|host:1")
	f.Add("cooldown|x")
	f.Add("abc.def.15000.s3|host:1")
	f.Add("abc.def.15000.w1073741824|host:1")
	f.Add("..|")
	f.Fuzz(func(t *testing.T, value string) {
		id, ok := ParseID(value)
		if ok && (id.TTL <= 0 || id.Client == "" || (id.Letter == 0) != (id.Weight == 0) || strings.ContainsAny(id.Owner, "|\n")) {
			t.Fatalf("%q reads as %+v", value, id)
		}
	})
}

func FuzzOwners(f *testing.F) {
	f.Add("host:1")
	f.Add("a|b\nc")
	f.Fuzz(func(t *testing.T, owner string) {
		id := NewID("client.", func() uint64 { return 7 }, Suffix(time.Second, CleanOwner(owner)))
		if got, ok := ParseID(id); !ok || got.TTL != time.Second {
			t.Fatalf("owner %q breaks the id: %+v, %v", owner, got, ok)
		}
	})
}

// An id with a mark is one to every version: its nonce is longer.
func TestMark(t *testing.T) {
	for memory, want := range map[time.Duration]string{0: "", time.Minute: "m60000", 90 * time.Minute: "m5400000"} {
		if got := Mark(memory); got != want {
			t.Errorf("%v: got %q, want %q", memory, got, want)
		}
		for _, suffix := range []string{Suffix(time.Second, "o"), SharedSuffix(time.Second, Permits, 2, "o")} {
			id := NewID("client.", func() uint64 { return 7 }, Mark(memory)+suffix)
			if got, ok := ParseID(id); !ok || got.Client != "client" || got.TTL != time.Second || got.Owner != "o" {
				t.Errorf("%s: got %+v, %v", id, got, ok)
			}
			nonce := strings.Split(id, ".")[1]
			if marked := len(nonce) > protocol.Nonce; marked != (memory > 0) {
				t.Errorf("%s: the nonce has %d letters; a script takes more than %d for a mark", id, len(nonce), protocol.Nonce)
			}
		}
	}
}
