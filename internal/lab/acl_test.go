//go:build unix

package lab_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// place is where users get rights: one server, or the nodes of a cluster.
type place struct {
	servers []*redistest.Server
	scheme  string
}

// documentedRights is what docs/guide/08-operating.md says to give a user: the words
// behind its password, and what it says of servers from version 8 on.
func (p place) documentedRights(t *testing.T, user string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ACL SETUSER ` + user + ` on >PASSWORD (.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("docs/guide/08-operating.md has no line for the user %s", user)
	}
	rights := strings.Fields(string(line[1]))
	info := p.servers[0].MustDo(t, "INFO", "server")
	if !regexp.MustCompile(`(?m)^(redis|valkey)_version:([89]|\d\d)`).MatchString(info) {
		return rights
	}
	if p.scheme == "cluster" {
		return append(rights, "+cluster|shards")
	}
	rights[slices.Index(rights, "+cluster|slots")] = "+cluster|shards"
	return rights
}

// user gives one user these rights and no others, and forgets what was refused.
func (p place) user(t *testing.T, rights []string) (url string) {
	t.Helper()
	addresses := make([]string, len(p.servers))
	for i, server := range p.servers {
		args := []any{"ACL", "SETUSER", "app", "reset", "on", ">pw"}
		for _, word := range rights {
			args = append(args, word)
		}
		server.MustDo(t, args...)
		server.MustDo(t, "SCRIPT", "FLUSH") // or EVAL would not be needed
		server.MustDo(t, "ACL", "LOG", "RESET")
		addresses[i] = server.Addr()
	}
	return p.scheme + "://app:pw@" + strings.Join(addresses, ",")
}

var refusedObject = regexp.MustCompile(`(?m)^object\n(.*)$`)

// refused is what the servers have refused since: commands, keys and channels.
// A name for the connection, in CLIENT LIST, is asked for and not needed.
func (p place) refused(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, server := range p.servers {
		for _, found := range refusedObject.FindAllStringSubmatch(server.MustDo(t, "ACL", "LOG"), -1) {
			if found[1] != "client|setname" && found[1] != "client|setinfo" {
				all = append(all, found[1])
			}
		}
	}
	return all
}

// The users of docs/guide/08-operating.md may do all that the conformance suite does,
// with each driver, and nothing in their lists is superfluous: without any entry
// something is refused, and Check says what.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	places := map[string]place{
		"app":       {[]*redistest.Server{redistest.Start(t, redistest.Options{})}, "redis"},
		"clustered": {redistest.Cluster(t, 3, 0), "cluster"},
	}
	for user, p := range places {
		rights := p.documentedRights(t, user)
		t.Run(user+" is enough", func(t *testing.T) { enough(t, p, rights) })
		t.Run(user+" is the least", func(t *testing.T) { least(t, p, rights) })
	}
}

// enough runs the suite, whose names have a prefix of their own.
func enough(t *testing.T, p place, rights []string) {
	ours := append(slices.Clone(rights), "+wait", "+info", // for Options.WaitReplicas, as it says there
		"+mget",                                                     // for crowds
		"+hmget", "+hset", "+zcount", "+zremrangebyrank", "+unlink") // for the shared kinds
	ours[slices.Index(ours, "~holdfast:*")] = "~storetest-*"
	url := p.user(t, ours)
	eachDriver(t, func(t *testing.T, d library) {
		drivertest.Run(t, func(t *testing.T) driver.Store { return d.open(t, url, way{}) })
	})
	if got := p.refused(t); len(got) > 0 {
		t.Errorf("refused: %q", got)
	}
}

func least(t *testing.T, p place, rights []string) {
	for i, word := range rights {
		if !strings.ContainsAny(word[:1], "+~&") {
			continue
		}
		url := p.user(t, slices.Delete(slices.Clone(rights), i, i+1))
		var said []string
		for _, d := range drivers {
			said = append(said, complaints(t, d, url)...)
		}
		if len(p.refused(t)) == 0 {
			t.Errorf("nothing is refused without %s: it is superfluous", word)
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(word, "*"), "|")
		if !strings.Contains(strings.Join(said, "\n"), name) && !strings.HasPrefix(word, "+cluster") && word != "+role" {
			t.Errorf("without %s Check does not name it:\n%s", word, strings.Join(said, "\n"))
		}
	}
}

// complaints is what Check finds wrong.
func complaints(t *testing.T, d library, url string) []string {
	t.Helper()
	store, err := d.try(url, way{})
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = store.Close() }()
	client := holdfast.New(store, nil)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var said []string
	for _, check := range client.Check(ctx) {
		if check.State == holdfast.CheckFail || check.State == holdfast.CheckWarn {
			said = append(said, fmt.Sprintf("%s: %s", check.Name, check.Finding))
		}
	}
	return said
}
