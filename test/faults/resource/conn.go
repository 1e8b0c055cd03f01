package resource

import (
	"bufio"
	"fmt"
	"net"
)

// Conn is a client's connection. It serves one caller at a time.
type Conn struct {
	conn    net.Conn
	answers *bufio.Reader
}

// Dial connects to the resource at a Unix socket.
func Dial(socket string) (*Conn, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &Conn{conn, bufio.NewReader(conn)}, nil
}

// State is how far the registers of a name were when they were read.
type State struct{ Version, Free int64 }

// Read advances the fence to the token and returns the state; ok is false where
// the fence is higher.
func (c *Conn) Read(name string, attempt, token int64) (s State, ok bool, err error) {
	return c.round("r %s %d %d 0 0\n", name, attempt, token)
}

// Write adds the attempt to what was read.
func (c *Conn) Write(name string, attempt, token int64, base State) (now State, ok bool, err error) {
	return c.round("w %s %d %d %d %d\n", name, attempt, token, base.Version, base.Free)
}

func (c *Conn) round(format string, args ...any) (s State, ok bool, err error) {
	if _, err := fmt.Fprintf(c.conn, format, args...); err != nil {
		return s, false, err
	}
	line, err := c.answers.ReadString('\n')
	if err != nil {
		return s, false, err
	}
	var said int
	_, err = fmt.Sscan(line, &said, &s.Version, &s.Free)
	return s, said == 1, err
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }
