package goredisstore_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/holdfast-go/holdfast/internal/redisurl"
	"github.com/holdfast-go/holdfast/internal/redisurl/urltest"
)

// All that a URL says arrives in the options, with the settings for a lock.
func TestParseURL(t *testing.T) {
	for text, want := range urltest.Taken {
		option, err := goredisstore.ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := urltest.Summary(redisurl.URL{
			Addrs: option.Addrs, User: option.Username, Password: option.Password, DB: option.DB, TLS: option.TLSConfig,
			Master: option.MasterName, SentinelUser: option.SentinelUsername, SentinelPassword: option.SentinelPassword,
		})
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
		if want := strings.HasPrefix(text, "cluster"); option.IsClusterMode != want {
			t.Errorf("%s: got cluster %v, want %v", text, option.IsClusterMode, want)
		}
		if !option.ContextTimeoutEnabled || option.MaxRetries != -1 || option.Dialer == nil || option.ReadTimeout == 0 {
			t.Errorf("%s: the settings for a lock are missing", text)
		}
	}
}

// A wrong URL is refused in the words that all drivers share.
func TestParseURLRefuses(t *testing.T) {
	for text, want := range urltest.Refused {
		_, err := goredisstore.ParseURL(text)
		if err == nil {
			t.Errorf("%q: got no error", text)
			continue
		}
		if said, ok := strings.CutPrefix(err.Error(), "goredisstore: url: "); !ok || !strings.Contains(said, want) || strings.Contains(strings.ToLower(said), "hunter") {
			t.Errorf("%q: got %q, want it to say %q", text, err, want)
		}
	}
}
