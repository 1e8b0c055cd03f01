package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("embedded: listen address: %w", err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("embedded: cannot listen on %q: the store has no password: use a loopback address such as 127.0.0.1:0", addr)
}

// port serves the store on a listener. It reads the protocol itself, instead of
// leaving that to miniredis, so that every command passes the store's gate.
type port struct {
	store    *Store
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{} // open ones
	closed bool
}

func (p *port) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if !p.add(conn) {
			_ = conn.Close()
			return
		}
		p.running.Go(func() { p.serve(conn) })
	}
}

func (p *port) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

// close ends the listener and all connections and waits for their goroutines.
func (p *port) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

// serve runs one connection's commands until it ends, and forgets what it
// subscribed to.
func (p *port) serve(conn net.Conn) {
	out := newOutbox(func() { _ = conn.Close() })
	peer := server.NewPeer(bufio.NewWriter(out))
	p.running.Go(func() {
		_, _ = io.Copy(conn, out)
		_ = conn.Close()
	})

	subscribed := false
	r := bufio.NewReader(conn)
	for !peer.Closed() {
		args, err := readCommand(r)
		if errors.Is(err, errProtocol) {
			peer.WriteError("ERR Protocol error")
			peer.Flush()
		}
		if err != nil {
			break
		}
		if len(args) == 0 {
			continue
		}
		command := strings.ToUpper(args[0])
		subscribed = subscribed || command == "SUBSCRIBE" || command == "PSUBSCRIBE"
		if err := p.store.run(peer, args); err != nil {
			break
		}
	}

	if subscribed {
		p.store.gate.Lock()
		p.store.mini.forget(peer)
		p.store.gate.Unlock()
	}
	out.close()
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
}

// readCommand reads one command: an array of texts.
func readCommand(r *bufio.Reader) ([]string, error) {
	value, err := read(r)
	if err != nil {
		return nil, err
	}
	values, ok := value.([]any)
	if !ok && value != nil {
		return nil, errProtocol
	}
	args := make([]string, len(values))
	for i, value := range values {
		if args[i], ok = value.(string); !ok {
			return nil, errProtocol
		}
	}
	return args, nil
}
