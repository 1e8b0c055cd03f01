package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	tries     = 4
	ofOneTry  = 5 * time.Second
	ofAll     = 30 * time.Second
	firstWait = time.Second // before the second try; then twice as long each
)

// poster posts messages. Its errors never have the URL.
type poster struct {
	to     string
	format Format
	count  func(Result)
	client *http.Client
}

func newPoster(o *Options) *poster {
	return &poster{o.URL, o.Format, o.Count, &http.Client{
		Transport: o.Transport, Timeout: ofOneTry,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post tries to post a message, at most 4 times in 30 s.
func (p *poster) post(ctx context.Context, m *Message) error {
	body, err := m.body(p.format)
	if err != nil {
		return err
	}
	end := time.Now().Add(ofAll)
	bounded, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	wait := firstWait
	for try := 1; ; try++ {
		failure := p.try(bounded, body)
		if failure == nil {
			p.count(Posted)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause := max(wait, failure.after)
		if failure.final || try == tries || !time.Now().Add(pause).Before(end) {
			p.count(Failed)
			return failure.err
		}
		p.count(Retried)
		if !sleep(bounded, pause) {
			return bounded.Err()
		}
		wait *= 2
	}
}

// failure is a try that failed.
type failure struct {
	err   error
	final bool          // another try would fail as well
	after time.Duration // the receiver wants the next try after this long
}

// try posts once. It follows no redirect: the receiver is the one that was named.
func (p *poster) try(ctx context.Context, body []byte) *failure {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to, bytes.NewReader(body))
	if err != nil {
		return &failure{err: errors.New("the URL is malformed"), final: true}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "holdfast")
	response, err := p.client.Do(request)
	if err != nil {
		if with := (*url.Error)(nil); errors.As(err, &with) {
			err = with.Err // without the URL
		}
		return &failure{err: fmt.Errorf("no answer from the receiver: %w", err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
	code := response.StatusCode
	if code/100 == 2 {
		return nil
	}
	f := &failure{err: fmt.Errorf("the receiver answered %d %s", code, http.StatusText(code))}
	switch {
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		f.after = time.Duration(min(max(seconds, 0), 3600)) * time.Second
	case code/100 == 3:
		f.err, f.final = fmt.Errorf("%w: redirects are not followed", f.err), true
	default:
		f.final = true
	}
	return f
}
