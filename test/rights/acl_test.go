//go:build unix

// Package rights_test tests what happens with too few rights, and what Check finds.
package rights_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// The users of docs/guide/08-operating.md may do all that the conformance suite does,
// with each driver, and nothing in their lists is superfluous: without any entry
// something is refused, and Check says what.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	places := map[string]clienttest.Place{
		"app":       {Servers: []*redistest.Server{redistest.Start(t, redistest.Options{})}, Scheme: "redis"},
		"clustered": {Servers: redistest.Cluster(t, 3, 0), Scheme: "cluster"},
	}
	for user, p := range places {
		rights := p.DocumentedRights(t, user)
		t.Run(user+" is enough", func(t *testing.T) { enough(t, p, rights) })
		t.Run(user+" is the least", func(t *testing.T) { least(t, p, rights) })
	}
}

// enough runs the suite, whose names have a prefix of their own.
func enough(t *testing.T, p clienttest.Place, rights []string) {
	ours := append(slices.Clone(rights), "+wait", "+info", // for Options.WaitReplicas, as it says there
		"+hmget", "+hset", "+hstrlen", "+zcount", "+zremrangebyrank", "+unlink", // for the shared kinds
		"+get") // for scripts of the suite
	ours[slices.Index(ours, "~holdfast:*")] = "~storetest-*"
	url := p.User(t, ours)
	t.Run("suite", func(t *testing.T) {
		clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
			t.Parallel()
			drivertest.Run(t, func(t *testing.T) driver.Store { return d.Open(t, url, clienttest.Way{}) })
		})
	})
	if got := p.Refused(t); len(got) > 0 {
		t.Errorf("refused: %q", got)
	}
}

func least(t *testing.T, p clienttest.Place, rights []string) {
	for i, word := range rights {
		if !strings.ContainsAny(word[:1], "+~&") {
			continue
		}
		url := p.User(t, slices.Delete(slices.Clone(rights), i, i+1))
		var said []string
		for _, d := range clienttest.Drivers {
			said = append(said, clienttest.Complaints(t, d, url)...)
		}
		if len(p.Refused(t)) == 0 {
			t.Errorf("nothing is refused without %s: it is superfluous", word)
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(word, "*"), "|")
		if !strings.Contains(strings.Join(said, "\n"), name) && !strings.HasPrefix(word, "+cluster") && word != "+role" {
			t.Errorf("without %s Check does not name it:\n%s", word, strings.Join(said, "\n"))
		}
	}
}
