package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/holdfast-go/holdfast/driver"
)

// What a reader of the protocol accepts: far more than holdfast or redis-cli
// send, far less than would hurt.
const (
	maxText  = 16 << 20
	maxArray = 1 << 20
	maxDepth = 16
)

var errProtocol = errors.New("embedded: malformed RESP2")

// read decodes one RESP2 value: a string, an int64, nil, an error reply as a
// driver.ServerError, or a []any of these. Any error means that the stream
// cannot be read any further.
func read(r *bufio.Reader) (any, error) { return readValue(r, maxDepth) }

func readValue(r *bufio.Reader, depth int) (any, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return readLongLine(r, line)
	}
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, errProtocol
	}
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		return text, nil
	case '-':
		return driver.ServerError(text), nil
	case ':':
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errProtocol
		}
		return n, nil
	case '$':
		return readBulk(r, text)
	case '*':
		return readArray(r, text, depth)
	}
	return nil, errProtocol
}

// readLongLine goes on where the buffer ended in a line. Only an error message
// is ever that long.
func readLongLine(r *bufio.Reader, start []byte) (any, error) {
	text := append([]byte(nil), start...)
	for len(text) < maxText {
		more, err := r.ReadSlice('\n')
		text = append(text, more...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !bytes.HasSuffix(text, []byte("\r\n")) {
			return nil, errProtocol
		}
		switch body := string(text[1 : len(text)-2]); text[0] {
		case '+':
			return body, nil
		case '-':
			return driver.ServerError(body), nil
		default:
			return nil, errProtocol
		}
	}
	return nil, errProtocol
}

func readBulk(r *bufio.Reader, size string) (any, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < -1 || n > maxText {
		return nil, errProtocol
	}
	if n == -1 {
		return nil, nil
	}
	// Copied, not read into a buffer of n bytes: the size is a claim.
	var text bytes.Buffer
	if _, err := io.CopyN(&text, r, int64(n)+2); err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(text.Bytes(), []byte("\r\n")) {
		return nil, errProtocol
	}
	return string(text.Bytes()[:n]), nil
}

func readArray(r *bufio.Reader, size string, depth int) (any, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < -1 || n > maxArray || depth == 0 {
		return nil, errProtocol
	}
	if n == -1 {
		return nil, nil
	}
	values := make([]any, 0, min(n, 64))
	for range n {
		value, err := readValue(r, depth-1)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// ask gives run a peer of its own, on ctx's connection state if that is not nil,
// and decodes what was answered.
func ask(ctx any, run func(*server.Peer) error) (any, error) {
	var answer bytes.Buffer
	peer := server.NewPeer(bufio.NewWriterSize(&answer, 64))
	peer.Ctx = ctx
	if err := run(peer); err != nil {
		return nil, err
	}
	peer.Flush()
	reply, err := read(bufio.NewReader(&answer))
	if err != nil {
		return nil, fmt.Errorf("embedded: undecodable answer: %w", err)
	}
	if refused, ok := reply.(driver.ServerError); ok {
		return nil, refused
	}
	return reply, nil
}

// texts flattens a script's answer as driver.Store asks for it.
func texts(reply any) ([]string, error) {
	if reply == nil {
		return nil, nil
	}
	values, ok := reply.([]any)
	if !ok {
		values = []any{reply}
	}
	list := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case string:
			list[i] = value
		case int64:
			list[i] = strconv.FormatInt(value, 10)
		case nil:
			// a false or nil in a Lua table: no text
		case driver.ServerError:
			return nil, value
		default:
			return nil, fmt.Errorf("embedded: element %d of the answer is %T, want text or integer", i, value)
		}
	}
	return list, nil
}
