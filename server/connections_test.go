package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/server"
)

// doors are a server with few connections, whose clients have addresses.
type doors struct {
	*pipes
	t     *testing.T
	token string
}

func openDoors(t *testing.T, n int, options *server.Options) *doors {
	t.Helper()
	w, of := withTokens(t, options)
	d := &doors{listen(), t, of[0]}
	web := server.NewServer(w.api)
	go func() { _ = web.Serve(server.LimitListener(d.pipes, n, options.TrustedProxies...)) }()
	t.Cleanup(func() { _ = web.Close() })
	return d
}

// guest is a connection.
type guest struct {
	net.Conn
	d   *doors
	got *bufio.Reader
}

type addressed struct {
	net.Conn
	from net.Addr
}

func (a *addressed) RemoteAddr() net.Addr { return a.from }

// from connects from an address.
func (d *doors) from(address string) *guest {
	near, far := net.Pipe()
	d.conns <- &addressed{far, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	synctest.Wait()
	d.t.Cleanup(func() { _ = near.Close() })
	return &guest{near, d, bufio.NewReader(near)}
}

// admits returns how long a request with a token from another address waits for its answer.
func (d *doors) admits(address string) time.Duration {
	d.t.Helper()
	synctest.Wait()
	began := time.Now()
	if !d.from(address).served() {
		d.t.Error("it was not served")
	}
	return time.Since(began)
}

// send writes a request.
func (g *guest) send(line, body string, headers ...string) bool {
	text := line + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n"
	for i := 0; i < len(headers); i += 2 {
		text += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	_, err := io.WriteString(g, text+"\r\n"+body)
	return err == nil
}

// ask sends a request and returns the status and the text of the answer; 0: there was none.
func (g *guest) ask(line, body string, headers ...string) (int, string) {
	if !g.send(line, body, headers...) {
		return 0, ""
	}
	r, err := http.ReadResponse(g.got, nil)
	if err != nil {
		return 0, ""
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	synctest.Wait()
	return r.StatusCode, string(text)
}

func (g *guest) bearer() []string { return []string{"Authorization", "Bearer " + g.d.token} }

// served reports whether a request with a token is answered.
func (g *guest) served() bool {
	status, _ := g.ask("GET /v1/locks", "", g.bearer()...)
	return status == http.StatusOK
}

// open reports whether the server has not closed it.
func (g *guest) open() bool {
	_ = g.SetReadDeadline(time.Now().Add(-1))
	defer g.SetReadDeadline(time.Time{}) //nolint:errcheck // of a pipe
	_, err := g.Read(make([]byte, 1))
	return !errors.Is(err, io.EOF)
}

// holds takes a name by a stream, and reads it.
func (g *guest) holds(name string) {
	g.d.t.Helper()
	if !g.send("POST /v1/leases/stream", `{"name": "`+name+`"}`, g.bearer()...) {
		g.d.t.Fatalf("no stream of %s", name)
	}
	for line := ""; !strings.HasPrefix(line, "event: granted"); {
		var err error
		if line, err = g.got.ReadString('\n'); err != nil {
			g.d.t.Fatalf("no lease of %s: %v", name, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, g.got) }()
	synctest.Wait()
}

// Connections without a known token make room, the one that was idle the longest first. Known ones
// stay, idle or not.
func TestStrangersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 8, &server.Options{})
		known, stream := d.from("10.0.0.1"), d.from("10.0.0.2")
		if !known.served() {
			t.Fatal("a known token is refused")
		}
		stream.holds("n")
		var strangers []*guest
		for i := range 6 {
			g := d.from(fmt.Sprintf("10.0.1.%d", i))
			switch i % 3 {
			case 1:
				_, _ = io.WriteString(g, "GET / HTTP/1.1\r\nHost: ")
			case 2:
				g.ask("GET /healthz", "")
			}
			strangers = append(strangers, g)
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		late := d.from("10.0.0.3")
		if !late.served() || time.Since(began) != 0 {
			t.Errorf("a known token waited for %v", time.Since(began))
		}
		for i, g := range strangers {
			if got, want := g.open(), i > 0; got != want {
				t.Errorf("stranger %d is open: %v, want %v", i, got, want)
			}
		}
		for i := range 50 {
			d.from(fmt.Sprintf("10.0.2.%d", i))
		}
		for i, g := range strangers {
			if g.open() {
				t.Errorf("stranger %d is open after 50 others", i)
			}
		}
		if !known.served() || !late.served() || !stream.open() {
			t.Error("a known connection was closed for strangers")
		}
	})
}

// A few addresses that open connections all the time close their own. A client that needs a while for
// its first request keeps its connection.
func TestStrangersOfBusyAddressesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 8, &server.Options{})
		slow := d.from("10.0.0.1")
		_, _ = io.WriteString(slow, "GET /v1/locks HTTP/1.1\r\nHost: localhost\r\n")
		for i := range 80 {
			time.Sleep(time.Millisecond)
			d.from(fmt.Sprintf("10.0.1.%d", i%4))
		}
		if _, err := io.WriteString(slow, "Authorization: Bearer "+d.token+"\r\n\r\n"); err != nil {
			t.Fatalf("its connection was closed for those of four others: %v", err)
		}
		if r, err := http.ReadResponse(slow.got, nil); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("its request was not answered: %v, %v", r, err)
		}
	})
}

// A connection with a request of a known token is not closed: others wait. An idle one is, if there
// is no stranger.
func TestRequestsKeepTheirConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 2, &server.Options{})
		a, b := d.from("10.0.0.1"), d.from("10.0.0.2")
		a.holds("a")
		b.holds("b")
		c := d.from("10.0.0.3")
		served := make(chan time.Time, 1)
		go func() {
			c.served()
			served <- time.Now()
		}()
		time.Sleep(time.Minute)
		if !a.open() || !b.open() || len(served) > 0 {
			t.Fatalf("streams are open: %v, %v; the third was served: %v", a.open(), b.open(), len(served) > 0)
		}
		at := time.Now()
		_ = a.Close()
		if waited := (<-served).Sub(at); waited > time.Second {
			t.Errorf("with room it waited for %v more", waited)
		}
		if e := d.from("10.0.0.4"); !e.served() || c.open() || !b.open() {
			t.Errorf("the idle one is open: %v; the stream: %v", c.open(), b.open())
		}
	})
}

// One address has a quarter of the connections for strangers, and so have 64 bits of IPv6. They cost
// others none.
func TestShareOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 8, &server.Options{})
		other := d.from("10.0.0.1")
		for _, addresses := range [][]string{{"10.0.0.2", "10.0.0.2", "10.0.0.2"}, {"2001:db8::1", "2001:db8::2", "2001:db8::3"}} {
			var all []*guest
			for _, address := range addresses {
				all = append(all, d.from(address))
				time.Sleep(time.Millisecond)
			}
			if all[0].open() || !all[1].open() || !all[2].open() {
				t.Errorf("%v are open: %v, %v, %v; want the last two", addresses, all[0].open(), all[1].open(), all[2].open())
			}
		}
		if !other.open() {
			t.Error("the connection of another address was closed")
		}
	})
}

// Without a known token a connection lives 10 s, and a request that is stuck 5 s if there is no room.
func TestStrangersHaveTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 4, &server.Options{})
		known, idle := d.from("10.0.0.1"), d.from("10.0.0.2")
		known.served()
		idle.ask("GET /healthz", "")
		time.Sleep(9 * time.Second)
		if !idle.open() {
			t.Error("it was closed before 10 s")
		}
		time.Sleep(2 * time.Second)
		if idle.open() || !known.open() {
			t.Errorf("after 11 s the stranger is open: %v, the known: %v", idle.open(), known.open())
		}
		for i := range 3 { // they read no answer
			d.from(fmt.Sprintf("10.0.1.%d", i)).send("GET /healthz", "")
		}
		known.send("GET /v1/locks", "", known.bearer()...)
		if took := d.admits("10.0.0.3"); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("behind stuck requests it waited for %v, want 5s", took)
		}
	})
}

// A proxy sends requests of all its clients by one connection. A known token makes room for none that
// has no token and is stuck; while the connection is idle, it counts as known.
func TestStuckBehindAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 4, &server.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}})
		var all []*guest
		for i := range 4 {
			g := d.from("10.9.0.1")
			if !g.served() {
				t.Fatal("a known token is refused")
			}
			if status, _ := g.ask("GET /healthz", "", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)); status != http.StatusOK {
				t.Errorf("request %d: %d", i, status)
			}
			all = append(all, g)
		}
		time.Sleep(time.Minute)
		for i, g := range all {
			if !g.open() {
				t.Errorf("connection %d was closed while it was idle", i)
			}
			_, _ = fmt.Fprintf(g, "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.%d\r\nContent-Length: 1000\r\n\r\nx", i)
		}
		if took := d.admits("10.0.0.3"); took > 6*time.Second {
			t.Errorf("behind requests without a token it waited for %v, want 5s", took)
		}
	})
}

// The address of a client behind a proxy is the proxy's word, and nobody else's.
func TestForwardedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, 8, &server.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}})
		var all []*guest
		for i := range 4 {
			g := d.from("10.9.0.1")
			if status, _ := g.ask("GET /healthz", "", "X-Forwarded-For", "192.0.2.99, 192.0.2.7, 10.9.0.2"); status != http.StatusOK {
				t.Errorf("request %d: %d", i, status)
			}
			all = append(all, g)
			time.Sleep(time.Millisecond)
		}
		if all[0].open() || all[1].open() || !all[2].open() || !all[3].open() {
			t.Errorf("of one client behind a proxy are open: %v, %v, %v, %v; want the last two", all[0].open(), all[1].open(), all[2].open(), all[3].open())
		}
		for address, want := range map[string]string{"10.9.0.1": "ci@192.0.2.7", "10.0.0.1": "ci@10.0.0.1"} {
			g := d.from(address)
			status, text := g.ask("POST /v1/leases", `{"name": "`+address+`"}`, append(g.bearer(), "X-Forwarded-For", "192.0.2.7")...)
			if status != http.StatusCreated || !strings.Contains(text, `"`+want+`"`) {
				t.Errorf("from %s: %d, want the owner %s: %s", address, status, want, text)
			}
		}
	})
}
