package view_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/internal/view"
)

func TestState(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	holder := admin.Holder{Owner: "web-1:7", Hash: "0123456789", Held: 1500 * time.Millisecond, Remaining: 2 * time.Second, TTL: 15 * time.Second}
	reader := admin.Holder{Owner: "r", Hash: "abcdef0123", Remaining: -1, Part: admin.Part{Reads: true}}
	cooling := admin.Holder{Owner: "old", Cooldown: true, Remaining: 0}
	const reader1 = `{"owner":"r","hash":"abcdef0123","foreign":false,"cooldown":false,"held_ms":null,"remaining_ms":null,"ttl_ms":null,"mode":"read"}`
	for what, c := range map[string]struct {
		state   admin.State
		reasons []diagnose.Diagnosis
		want    string
	}{
		"free": {admin.State{Name: "a", Kind: holdfast.KindMutex, At: at}, nil,
			`{"name":"a","kind":"mutex","state":"free","held":false,"holder":null,"tokens_up_to":0,"waiting":0,"waiters":[],"reasons":[],"at":"2026-01-02T02:04:05Z"}`},
		"held": {admin.State{Name: "a", Kind: holdfast.KindMutex, Holder: &holder, Token: 64, Term: 2, Waiting: 1, At: at,
			Waiters: []admin.Waiter{{Owner: "w", Hash: "1", Waited: time.Second, Listening: true, Client: "c"}}},
			[]diagnose.Diagnosis{{Code: diagnose.HeldHealthy, Sentence: "held", Action: "none"}},
			`{"name":"a","kind":"election","state":"held","held":true,"holder":{"owner":"web-1:7","hash":"0123456789","foreign":false,"cooldown":false,"held_ms":1500,"remaining_ms":2000,"ttl_ms":15000},` +
				`"tokens_up_to":64,"waiting":1,"waiters":[{"position":0,"owner":"w","hash":"1","waited_ms":1000,"listening":true,"client":"c"}],` +
				`"reasons":[{"code":"` + string(diagnose.HeldHealthy) + `","problem":false,"sentence":"held","action":"none"}],"at":"2026-01-02T02:04:05Z","term":2}`},
		"cool-down": {admin.State{Name: "a", Kind: holdfast.KindMutex, Holder: &cooling, At: at}, nil,
			`{"name":"a","kind":"mutex","state":"cool-down","held":false,"holder":{"owner":"old","hash":"","foreign":false,"cooldown":true,"held_ms":null,"remaining_ms":0,"ttl_ms":null},` +
				`"tokens_up_to":0,"waiting":0,"waiters":[],"reasons":[],"at":"2026-01-02T02:04:05Z"}`},
		"rwmutex": {admin.State{Name: "a", Kind: holdfast.KindRWMutex, Holder: &reader, Holders: []admin.Holder{reader}, Holding: 1, At: at}, nil,
			`{"name":"a","kind":"rwmutex","state":"held","held":true,"holder":` + reader1 + `,"tokens_up_to":0,"waiting":0,"waiters":[],"reasons":[],"at":"2026-01-02T02:04:05Z","holding":1,"holders":[` + reader1 + `]}`},
		"semaphore": {admin.State{Name: "a", Kind: holdfast.KindSemaphore, Size: 3, At: at}, nil,
			`{"name":"a","kind":"semaphore","state":"free","held":false,"holder":null,"tokens_up_to":0,"waiting":0,"waiters":[],"reasons":[],"at":"2026-01-02T02:04:05Z","size":3,"used":0,"holding":0}`},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := json.Marshal(view.NewState(&c.state, c.reasons))
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestLease(t *testing.T) {
	before := time.Now()
	l := view.NewLease("text", &holdfast.ExportedHold{Name: "a", Token: 64, Owner: "web-1:7", Hash: "0123456789", TTL: time.Minute, Remaining: 30 * time.Second, Waiting: 2})
	if left := l.Deadline.Sub(before); left < 29*time.Second || left > time.Minute {
		t.Errorf("the deadline is in %v, want 30s", left)
	}
	l.Deadline = nil
	got, err := json.Marshal(l)
	want := `{"lease":"text","name":"a","token":64,"owner":"web-1:7","hash":"0123456789","ttl_ms":60000,"remaining_ms":30000,"deadline":null,"waiting":2}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ä, 錠":    "plain, ä, 錠",
		"a\x1b[2Jb":      `a\x1b[2Jb`,
		"line\nend":      `line\nend`,
		"turn\u202eback": `turn\u202eback`,
		"broken\xff":     `broken\xff`,
	} {
		if got := view.Text(text); got != want {
			t.Errorf("Text(%q) = %s, want %s", text, got, want)
		}
	}
	if got, want := view.TextJSON("\"a\u202e\U000e0001\"\n"), "\"a\\u202e\\udb40\\udc01\"\n"; got != want {
		t.Errorf("TextJSON = %s, want %s", got, want)
	}
}
