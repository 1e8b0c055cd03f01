//go:build unix

package guide_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast"
)

// The object store of docs/guide/02-fencing.md.

type object struct {
	Token int64 `json:"token"`
	Total int   `json:"total"`
}

// update changes an object under a token. Object stores check the condition and
// write in one step.
func update(ctx context.Context, url string, token int64, change func(*object)) error {
	for {
		var current object
		etag, err := get(ctx, url, &current)
		if err != nil {
			return err
		}
		if current.Token > token {
			return &holdfast.StaleError{Name: url, Token: token, Newest: current.Token}
		}
		current.Token = token
		change(&current)
		written, err := put(ctx, url, etag, current)
		if written || err != nil {
			return err
		}
		// Another client wrote after our read: read again.
	}
}

func put(ctx context.Context, url, etag string, o object) (written bool, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	if etag == "" {
		request.Header.Set("If-None-Match", "*") // only if there is no object
	} else {
		request.Header.Set("If-Match", etag) // only if it is still the one we read
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusPreconditionFailed, http.StatusConflict:
		return false, nil
	}
	return false, fmt.Errorf("%s: %s", url, response.Status)
}

// get reads an object. The tag is empty if there is none.
func get(ctx context.Context, url string, o *object) (etag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return response.Header.Get("ETag"), json.NewDecoder(response.Body).Decode(o)
	case http.StatusNotFound:
		return "", nil
	}
	return "", fmt.Errorf("%s: %s", url, response.Status)
}

// bucket has the conditional writes of an object store. As in S3 the tag is a hash of
// the content.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	before  func() // runs once, before a write
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if before := b.before; r.Method == http.MethodPut && before != nil {
		b.before = nil
		before()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	body, exists := b.objects[r.URL.Path]
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
	switch {
	case r.Method == http.MethodPut && (r.Header.Get("If-None-Match") == "*" && exists || r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag):
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPut:
		b.objects[r.URL.Path], _ = io.ReadAll(r.Body)
	case !exists:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("ETag", etag)
		_, _ = w.Write(body)
	}
}

func TestFencingObjects(t *testing.T) {
	_, older, newer := twoLeases(t)
	b := &bucket{objects: map[string][]byte{}}
	server := httptest.NewServer(b)
	defer server.Close()
	add := func(lease *holdfast.Lease) error {
		return update(t.Context(), server.URL+"/invoices/42", lease.Token(), func(o *object) { o.Total++ })
	}
	b.before = func() { // the older one has read, and writes after the newer one
		if err := add(newer); err != nil {
			t.Error(err)
		}
	}
	if err := add(older); !errors.Is(err, holdfast.ErrStale) {
		t.Errorf("a write that was late: got %v, want stale", err)
	}
	refusesTheOlder(t, "an object", older, newer, add)
	b.before = func() { // a write of the same content with a newer token
		if err := update(t.Context(), server.URL+"/invoices/42", newer.Token()+1, func(*object) {}); err != nil {
			t.Error(err)
		}
	}
	late := update(t.Context(), server.URL+"/invoices/42", newer.Token(), func(*object) {})
	if !errors.Is(late, holdfast.ErrStale) {
		t.Errorf("a late write, after one that kept the content: got %v, want stale", late)
	}
	var got object
	if _, err := get(t.Context(), server.URL+"/invoices/42", &got); err != nil || got.Total != 3 || got.Token != newer.Token()+1 {
		t.Errorf("got %+v, %v, want a total of 3 with the newest token", got, err)
	}
}
