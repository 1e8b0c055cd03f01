package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/driver"
)

// dialError says what is wrong with the server, or with the URL that names it,
// and what to do about it.
func dialError(serverURL string, err error) error {
	shown, why := cli.PublicURL(serverURL), err
	if inner := errors.Unwrap(err); inner != nil {
		why = inner // without which address it was: that is in the URL
	}
	text := cli.Redact(strings.TrimPrefix(why.Error(), "rueidisstore: "), serverURL)
	_, answered := errors.AsType[driver.ServerError](err)
	switch {
	case cli.Denied(text):
		return cli.Exit(cli.ExitNoPerm, fmt.Errorf("%s refused: %s", shown, text))
	case answered && !notReady(text):
		return cli.Usagef("the URL does not fit the server %s: %s%s", shown, text, misfit(text))
	case answered:
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s is not ready: %s", shown, text))
	case strings.Contains(text, "not part of a cluster"):
		return cli.Usagef("the URL does not fit the server: %s", text)
	case strings.Contains(text, "unknown message type: 21"): // the first byte of an alert
		return cli.Usagef("%s wants TLS: add an s to the scheme of its URL, as in rediss://", shown)
	case strings.Contains(text, "unknown message type"):
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s is not a Redis server (%s)", shown, text))
	}
	hint := ""
	if errors.Is(err, context.DeadlineExceeded) {
		text = "timed out"
		if scheme, _, _ := strings.Cut(serverURL, "://"); strings.HasSuffix(scheme, "s") && scheme != "redis" {
			hint = "; if it has no TLS, use redis://"
		}
	}
	return cli.Exit(cli.ExitUnreachable, fmt.Errorf("no answer from %s: %s%s%s", shown, text, hint, OtherServer))
}

// schemeError is what is wrong with the scheme of a URL, or nothing. Without a scheme the
// URL is shown only if it is an address: else it may be a password.
func schemeError(serverURL string) string {
	scheme, _, found := strings.Cut(serverURL, "://")
	switch {
	case !found && cli.Address.MatchString(serverURL):
		return fmt.Sprintf("no scheme in %q; want redis://%s", serverURL, serverURL)
	case !found:
		return "no scheme; want redis://host:port"
	}
	switch scheme {
	case "redis", "valkey", "unix", "sentinel", "cluster", "rediss", "valkeys", "sentinels", "clusters":
		return ""
	}
	return "unknown scheme; want redis://, valkey://, unix://, sentinel:// or cluster://, or with TLS rediss:// and so on"
}

// OtherServer ends what is said of a server that does not answer, but where its
// URL was an argument.
const OtherServer = " (--redis or HOLDFAST_REDIS_URL selects another server, 'holdfast dev' starts one for tests)"

// notReady reports whether an answer speaks of a state of the server that passes.
func notReady(answer string) bool {
	for _, state := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "TRYAGAIN", "READONLY", "max number of clients"} {
		if strings.Contains(answer, state) {
			return true
		}
	}
	return false
}

// misfit is a hint for an answer that shows another kind of server than the URL
// says.
func misfit(answer string) string {
	switch {
	case strings.Contains(strings.ToUpper(answer), "'SENTINEL'"), strings.Contains(strings.ToUpper(answer), "`SENTINEL`"):
		return ": it is not a Sentinel; for a single server use redis://"
	case strings.Contains(answer, "DB index"):
		return ": the number at the end of the URL is the database; this server does not have it"
	}
	return ""
}
