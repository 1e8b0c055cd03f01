package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Error is an error that the server answered, word for word.
type Error string

func (e Error) Error() string { return string(e) }

// Do sends one command on a connection of its own and returns the answer as
// text: integers in decimal, an array as its elements on a line each, nil as
// the empty text (ask EXISTS to tell the two apart). A refusal of the server is
// an Error. A server that is frozen is given up on after five seconds.
func (s *Server) Do(args ...any) (string, error) { return s.do(args) }

// DoHere is Do for a node of a Cluster that may be a replica: it answers by
// what it has itself.
func (s *Server) DoHere(args ...any) (string, error) { return s.do([]any{"READONLY"}, args) }

// do sends commands and returns the answer to the last.
func (s *Server) do(commands ...[]any) (answer string, err error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), commandTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(commandTimeout)); err != nil {
		return "", err
	}
	answers := bufio.NewReader(conn)
	if s.admin != "" {
		if _, err := roundTrip(conn, answers, []any{"AUTH", adminUser, s.admin}); err != nil {
			return "", err
		}
	}
	for _, args := range commands {
		if answer, err = roundTrip(conn, answers, args); err != nil {
			return "", err
		}
	}
	return answer, nil
}

func roundTrip(w io.Writer, r *bufio.Reader, args []any) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		text := fmt.Sprint(arg)
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(text), text)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return "", err
	}
	return readReply(r)
}

// readReply reads one RESP2 reply. An error inside an array is returned as the
// error of the whole, after the whole was read.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("redistest: an empty line where a reply should begin")
	}
	rest := line[1:]
	switch line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		return "", Error(rest)
	case '$', '*':
	default:
		return "", fmt.Errorf("redistest: not a reply: %q", line)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return "", err
	}
	if line[0] == '$' {
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	}
	return readElements(r, n)
}

func readElements(r *bufio.Reader, n int) (string, error) {
	elements := make([]string, n)
	var refused error
	for i := range elements {
		text, err := readReply(r)
		if e := Error(""); errors.As(err, &e) {
			refused = err
		} else if err != nil {
			return "", err
		}
		elements[i] = text
	}
	return strings.Join(elements, "\n"), refused
}
