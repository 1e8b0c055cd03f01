package dashboard_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

var fact = regexp.MustCompile(`<dt>([^<]+)</dt><dd>([^<]+)</dd>`)

// The page of a lock is of one moment. The journal, which is read at another time than the
// state, never names another holder.
func TestOneMoment(t *testing.T) {
	entry := func(after time.Duration, event journal.Event, owner string, token int64) journal.Entry {
		return journal.Entry{At: time.Now().Add(after), Event: event, Name: "sale", Owner: owner, Token: token}
	}
	for what, c := range map[string]struct {
		entries func() written
		want    string // on the page; the holder is wanted in each case
		not     string
	}{
		"the journal is ahead": {func() written {
			return written{entry(time.Hour, journal.Granted, "shop-3:4105", 3), entry(time.Hour, journal.Released, "alice", 2), entry(0, journal.Granted, "alice", 2)}
		}, "newest entry of this name", "shop-3:4105"},
		"the journal is behind": {func() written {
			return written{entry(-time.Minute, journal.Granted, "shop-3:4105", 3)}
		}, "no entry of the lease that is held now", ""},
		"the journal lost an end": {func() written {
			return written{entry(0, journal.Granted, "alice", 2), entry(-time.Minute, journal.Granted, "alice", 1)}
		}, "no end in the journal", ""},
		"there is no entry": {func() written { return nil }, "The journal has no entry of this name", ""},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, &dashboard.Options{Journal: c.entries()})
				b.hold("sale")
				time.Sleep(3210 * time.Millisecond)
				body := b.shows("/lock?name=sale", "held by alice", c.want)
				now := regexp.MustCompile(`(?s)<bdi>([^<]*)</bdi></span></span></th>.{0,400}?<td[^>]*class="number">([^<]*)</td>(<td[^>]*>(<span[^>]*>)?[^<]*(</span>)?</td>)*?<td class="text"><span class="cut">holds it now`).FindAllStringSubmatch(body, -1)
				if strings.Count(body, "holds it now") != 2 || len(now) != 1 || now[0][1] != "alice" { // in a row, and in the title of a bar
					t.Fatalf("the journal's part has %q; want alice once:\n%s", now, body)
				}
				if c.not != "" && strings.Contains(body, c.not) {
					t.Errorf("the page says %q, which was later:\n%s", c.not, body)
				}
				facts := map[string]string{}
				for _, f := range fact.FindAllStringSubmatch(body, -1) {
					facts[f[1]] = f[2]
				}
				if got := facts["Held for"]; got == "" || got != now[0][2] {
					t.Errorf("held for %q above, and %q in the journal's part", got, now[0][2])
				}
			})
		})
	}
}

// A bar is calm while the holder renews on time, also in its first two seconds, in which the
// key in Redis lives shorter than the ttl. It alarms with the diagnosis.
func TestBar(t *testing.T) {
	for what, c := range map[string]struct {
		held, left time.Duration
		want       string
	}{
		"granted by a push": {1200 * time.Millisecond, 700 * time.Millisecond, `ttl-bar ok.*renewal is due`},
		"just granted":      {100 * time.Millisecond, 1900 * time.Millisecond, `ttl-bar ok.*renews in.*15 s from its first renewal on`},
		"just renewed":      {time.Minute, 14900 * time.Millisecond, `ttl-bar ok.*renews in 4\.\d s.*15 s of 15 s`},
		"soon renewed":      {time.Minute, 10500 * time.Millisecond, `ttl-bar ok.*renews in \d+ ms.*10 s of 15 s`},
		"overdue":           {time.Minute, 8 * time.Second, `ttl-bar ok.*renewal is due.*8\.0 s of 15 s`},
		"late":              {time.Minute, 4500 * time.Millisecond, `renews late.*ttl-bar low.*late, ends in 4\.\d s`},
		"nearly over":       {time.Minute, 1400 * time.Millisecond, `stopped renewing.*ttl-bar out.*ends in 1\.\d s`},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, nil)
				id := "AAAAAAAAAAAAAAAAAAAAAA.BBBBBBBBBBB.15000|shop-2:4101"
				token := strconv.FormatInt(2*time.Now().Add(-c.held).UnixMicro(), 10)
				ms := fmt.Sprint(c.left.Milliseconds())
				for _, command := range [][]string{{"SET", "holdfast/fence:{holdfast:sale}", token, "PX", "60000"}, {"SET", "holdfast:sale", id, "PX", ms}} {
					if _, err := b.store.Do(command...); err != nil {
						t.Fatal(err)
					}
				}
				_, _, body := b.get("/lock?name=sale")
				if !regexp.MustCompile("(?s)" + c.want).MatchString(body) {
					t.Errorf("want %s in\n%s", c.want, body)
				}
			})
		})
	}
}
