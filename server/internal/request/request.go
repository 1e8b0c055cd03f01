// Package request reads JSON bodies of requests, and the values in them.
package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/server/internal/reply"
)

// maxBody is how large a body may be, in bytes.
const maxBody = 16 << 10

// bodyTime is how long a body may take to come.
const bodyTime = 10 * time.Second

// Decode reads one JSON object and nothing else from a body that says that it is JSON,
// and returns the body. A field that is not known is a mistake that would go unseen.
func Decode(w http.ResponseWriter, r *http.Request, into any) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, reply.NewProblem("media-type", "Content-Type is %.100q: send application/json", r.Header.Get("Content-Type"))
	}
	body, err := Body(w, r)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err = d.Decode(into); err == nil {
		if _, more := d.Token(); errors.Is(more, io.EOF) {
			return body, nil
		}
		err = errors.New("there is more after the object")
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if text == `unknown field "tenure"` {
		text += "; the hash of a tenure is the field \"hash\""
	}
	return nil, reply.NewProblem("bad-request", "the body: %s", text)
}

// Body reads the whole body, of any kind.
func Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, reply.NewProblem("too-large", "the body has more than %d bytes", maxBody)
	} else if err != nil {
		return nil, reply.NewProblem("bad-request", "could not read the body: %v", err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

// Duration reads a duration within limits, in whole milliseconds; empty text is otherwise.
func Duration(what, text string, otherwise, least, most time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, reply.NewProblem("bad-request", `%s is %.50q: want a duration such as "30s" or "5m"`, what, text)
	case d < least || d > most:
		return 0, reply.NewProblem("bad-request", "%s is %v: it must be from %v to %v", what, d, least, most)
	}
	return d.Truncate(time.Millisecond), nil
}
