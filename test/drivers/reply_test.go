package drivers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
)

// oddly starts a server that says hello and gives one and the same answer to
// everything else.
func oddly(t *testing.T, d clienttest.Library, answer string) driver.Store {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for r := bufio.NewReader(conn); ; {
					name, err := readCommand(r)
					if err != nil {
						return
					}
					say := answer
					switch strings.ToUpper(name) {
					case "HELLO":
						say = "%1\r\n+proto\r\n:3\r\n"
					case "CLIENT", "PING":
						say = "+OK\r\n"
					case "CLUSTER":
						say = "-ERR This instance has cluster support disabled\r\n"
					}
					if _, err := io.WriteString(conn, say); err != nil {
						return
					}
				}
			}()
		}
	}()
	return d.Open(t, "redis://"+listener.Addr().String(), clienttest.Way{})
}

// readCommand reads one and returns its name.
func readCommand(r *bufio.Reader) (string, error) {
	var n, size int
	if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
		return "", err
	}
	name := ""
	for i := range n {
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return "", err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return "", err
		}
		if i == 0 {
			name = string(text[:size])
		}
	}
	return name, nil
}

// What no script of ours answers is flattened or refused, and never a panic.
func TestDriverOddReplies(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		call := driver.Call{Script: &driver.Script{Source: "return 1", SHA: "of that"}}
		refused := map[string]string{
			"nested":          "*2\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n",
			"map":             "%1\r\n$1\r\na\r\n$1\r\nb\r\n",
			"map in array":    "*1\r\n%1\r\n$1\r\na\r\n$1\r\nb\r\n",
			"error in array":  "*2\r\n$1\r\na\r\n-ERR inside\r\n",
			"big error":       "!8\r\nERR blob\r\n",
			"array and empty": "*1\r\n*0\r\n",
		}
		for name, answer := range refused {
			t.Run(name, func(t *testing.T) {
				if got, err := oddly(t, d, answer).Eval(t.Context(), call); err == nil {
					t.Errorf("got %q, want an error", got)
				}
			})
		}
		taken := map[string]struct {
			answer string
			want   []string
		}{
			"bool":          {"#t\r\n", []string{"1"}},
			"double":        {"*2\r\n,1.5\r\n#f\r\n", []string{"1.5", ""}},
			"null":          {"_\r\n", nil},
			"RESP2 null":    {"*-1\r\n", nil},
			"null in array": {"*2\r\n_\r\n$-1\r\n", []string{"", ""}},
			"set":           {"~1\r\n:5\r\n", []string{"5"}},
			"big number":    {"(123456789012345678901234567890\r\n", []string{"123456789012345678901234567890"}},
		}
		for name, test := range taken {
			t.Run(name, func(t *testing.T) {
				got, err := oddly(t, d, test.answer).Eval(t.Context(), call)
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %q, %v, want %q", got, err, test.want)
				}
			})
		}
	})
}

// A script that the server does not know goes out again, by its source.
func TestDriverEvalFallsBackToTheSource(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		call := driver.Call{Script: &driver.Script{Source: "return 1", SHA: "of that"}}
		_, err := oddly(t, d, "-NOSCRIPT really\r\n").Eval(t.Context(), call)
		if want := driver.ServerError("NOSCRIPT really"); err != error(want) { //nolint:errorlint // the very error
			t.Errorf("got %v, want %v", err, want)
		}
	})
}
