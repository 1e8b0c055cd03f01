package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// maxBody is how large a body may be, in bytes.
const maxBody = 16 << 10

// bodyTime is how long a body may take to come.
const bodyTime = 10 * time.Second

// readBody reads the whole body, which must say that it is JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, newProblem(http.StatusUnsupportedMediaType, "media-type", "Content-Type is %.100q: send application/json", r.Header.Get("Content-Type"))
	}
	return readAll(w, r)
}

// readAll reads the whole body, of whatever kind.
func readAll(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, newProblem(http.StatusRequestEntityTooLarge, "too-large", "the body has more than %d bytes", maxBody)
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "bad-request", "could not read the body: %v", err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, nil
}

// decode reads one JSON object and nothing else; a field that is not known is a
// mistake that would go unseen.
func decode(body []byte, into any) *problem {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the object")
		}
	}
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "json: ")
		if text == `unknown field "tenure"` {
			text += "; the hash of a tenure is the field \"hash\""
		}
		return newProblem(http.StatusBadRequest, "bad-request", "the body: %s", text)
	}
	return nil
}

// duration reads a duration of a request, within limits.
func duration(what, text string, otherwise, least, most time.Duration) (time.Duration, *problem) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, newProblem(http.StatusBadRequest, "bad-request", `%s is %.50q: want a duration such as "30s" or "5m"`, what, text)
	case d < least || d > most:
		return 0, newProblem(http.StatusBadRequest, "bad-request", "%s is %v: it must be from %v to %v", what, d, least, most)
	}
	return d.Truncate(time.Millisecond), nil
}
