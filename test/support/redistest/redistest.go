package redistest

import (
	"os"
	"testing"
)

// Start runs a server for the length of a test. It fails the test at once when
// there is no redis-server: a lock that was not tested against a real one was
// not tested. So a test is skipped for nothing but -short, which asks for what
// needs no server. The end of the server's log is shown when the test fails.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	s, err := Run(tempDir(t), options)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, s)
	return s
}

// keep closes the servers when the test ends.
func keep(t testing.TB, servers ...*Server) {
	t.Cleanup(func() {
		for _, s := range servers {
			s.Close()
			if t.Failed() {
				t.Logf("log of the server on %s ends:\n%s", s.Addr(), s.Log())
			}
		}
	})
}

// tempDir is t.TempDir with a short path: that of a Unix socket must fit into
// 104 bytes, and t.TempDir contains the name of the test.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
