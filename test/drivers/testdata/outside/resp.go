package mystore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client does what a client library does. A reply is nil, a string, an int64, an errorReply, or
// a []any of these.
type client struct {
	address string

	mu   sync.Mutex // protects idle
	idle []*conn
}

// errorReply is an error of the server.
type errorReply string

// patience is how long a call without a deadline waits for the server.
const patience = 5 * time.Second

// do sends commands in one pipeline. After an error it returns the replies that came before it.
func (c *client) do(ctx context.Context, commands [][]string) (replies []any, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end)
	err = conn.write(commands...)
	for err == nil && len(replies) < len(commands) {
		var reply any
		if reply, err = conn.read(); err == nil {
			replies = append(replies, reply)
		}
	}
	if err != nil {
		_ = conn.Close()
		c.close() // the server may be another now
		return replies, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, conn)
	return replies, nil
}

func (c *client) take(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		conn := c.idle[last]
		c.idle = c.idle[:last]
		c.mu.Unlock()
		return conn, nil
	}
	c.mu.Unlock()
	return dial(ctx, c.address)
}

// close closes the connections that are not in use.
func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.idle {
		_ = conn.Close()
	}
	c.idle = nil
}

// conn is a connection that speaks RESP2.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func dial(ctx context.Context, address string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

func (c *conn) write(commands ...[]string) error {
	var b bytes.Buffer
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, arg := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
		}
	}
	_, err := c.Write(b.Bytes())
	return err
}

func (c *conn) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("mystore: the server does not speak RESP2")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+':
		return rest, nil
	case '-':
		return errorReply(rest), nil
	}
	n, err := strconv.ParseInt(line[1:], 10, 64)
	switch kind := line[0]; {
	case err != nil || kind == ':':
		return n, err
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err = io.ReadFull(c.in, text)
		return string(text[:n]), err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
