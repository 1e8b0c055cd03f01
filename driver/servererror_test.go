package driver_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
)

func TestRedirected(t *testing.T) {
	for _, c := range []struct {
		err        error
		addr       string
		asking, ok bool
	}{
		{nil, "", false, false},
		{errors.New("MOVED 3999 127.0.0.1:6381"), "", false, false}, // not the server's
		{driver.ServerError("MOVED 3999 127.0.0.1:6381"), "127.0.0.1:6381", false, true},
		{fmt.Errorf("subscribe: %w", driver.ServerError("MOVED 3999 :6381")), ":6381", false, true},
		{driver.ServerError("ASK 3999 127.0.0.1:6381"), "127.0.0.1:6381", true, true},
		{driver.ServerError("MOVED to another place"), "", false, false},
		{driver.ServerError("TRYAGAIN Multiple keys"), "", false, false},
	} {
		addr, asking, ok := driver.Redirected(c.err)
		if addr != c.addr || asking != c.asking || ok != c.ok {
			t.Errorf("Redirected(%v): got %q, %v, %v, want %q, %v, %v", c.err, addr, asking, ok, c.addr, c.asking, c.ok)
		}
	}
}

func TestUnknownScript(t *testing.T) {
	for err, want := range map[error]bool{
		driver.ServerError("NOSCRIPT No matching script. Please use EVAL."): true,
		driver.ServerError("ERR unknown command"):                           false,
		errors.New("NOSCRIPT"):                                              false,
	} {
		if got := driver.UnknownScript(err); got != want {
			t.Errorf("UnknownScript(%v): got %v, want %v", err, got, want)
		}
	}
}
