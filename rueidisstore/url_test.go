package rueidisstore_test

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redisurl"
	"github.com/holdfast-go/holdfast/internal/redisurl/urltest"
	"github.com/holdfast-go/holdfast/rueidisstore"
)

// All that a URL says arrives in the options, with the settings for a lock.
func TestParseURL(t *testing.T) {
	for text, want := range urltest.Taken {
		option, err := rueidisstore.ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := urltest.Summary(redisurl.URL{
			Addrs: option.InitAddress, User: option.Username, Password: option.Password, DB: option.SelectDB, TLS: option.TLSConfig,
			Master: option.Sentinel.MasterSet, SentinelUser: option.Sentinel.Username, SentinelPassword: option.Sentinel.Password,
		})
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
		if option.Sentinel.TLSConfig != option.TLSConfig {
			t.Errorf("%s: the sentinels are not asked with the same TLS", text)
		}
		if !option.DisableCache || option.ClientName != "holdfast" || option.Dialer.Timeout == 0 || option.ConnWriteTimeout == 0 {
			t.Errorf("%s: the settings for a lock are missing", text)
		}
	}
}

// A wrong URL is refused in the words that all drivers share.
func TestParseURLRefuses(t *testing.T) {
	for text, want := range urltest.Refused {
		_, err := rueidisstore.ParseURL(text)
		if err == nil {
			t.Errorf("%q: got no error", text)
			continue
		}
		if said, ok := strings.CutPrefix(err.Error(), "rueidisstore: url: "); !ok || !strings.Contains(said, want) || strings.Contains(strings.ToLower(said), "hunter") {
			t.Errorf("%q: got %q, want it to say %q", text, err, want)
		}
	}
}
