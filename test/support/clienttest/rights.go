package clienttest

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Place is where users get rights: one server, or the nodes of a cluster.
type Place struct {
	Servers []*redistest.Server
	Scheme  string
}

// DocumentedRights is what docs/guide/08-operating.md says to give a user: the words
// behind its password, and what it says of servers from version 8 on.
func (p Place) DocumentedRights(t *testing.T, user string) []string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ACL SETUSER ` + user + ` on >PASSWORD (.*)$`).FindStringSubmatch(Operating(t))
	if line == nil {
		t.Fatalf("docs/guide/08-operating.md has no line for the user %s", user)
	}
	rights := strings.Fields(line[1])
	info := p.Servers[0].MustDo(t, "INFO", "server")
	if !regexp.MustCompile(`(?m)^(redis|valkey)_version:([89]|\d\d)`).MatchString(info) {
		return rights
	}
	if p.Scheme == "cluster" {
		return append(rights, "+cluster|shards")
	}
	rights[slices.Index(rights, "+cluster|slots")] = "+cluster|shards"
	return rights
}

// Operating is the text of docs/guide/08-operating.md.
func Operating(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// SetUser gives a user of one server the password pw, these rights and no others.
func SetUser(t *testing.T, server *redistest.Server, user string, rights []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "reset", "on", ">pw"}
	for _, word := range rights {
		args = append(args, word)
	}
	server.MustDo(t, args...)
}

// User gives one user these rights and no others, and forgets what was refused.
func (p Place) User(t *testing.T, rights []string) (url string) {
	t.Helper()
	addresses := make([]string, len(p.Servers))
	for i, server := range p.Servers {
		SetUser(t, server, "app", rights)
		server.MustDo(t, "SCRIPT", "FLUSH") // or EVAL would not be needed
		server.MustDo(t, "ACL", "LOG", "RESET")
		addresses[i] = server.Addr()
	}
	return p.Scheme + "://app:pw@" + strings.Join(addresses, ",")
}

var refusedObject = regexp.MustCompile(`(?m)^object\n(.*)$`)

// Refused is what the servers have refused since: commands, keys and channels.
// A name for the connection, in CLIENT LIST, is asked for and not needed.
func (p Place) Refused(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, server := range p.Servers {
		for _, found := range refusedObject.FindAllStringSubmatch(server.MustDo(t, "ACL", "LOG"), -1) {
			if found[1] != "client|setname" && found[1] != "client|setinfo" {
				all = append(all, found[1])
			}
		}
	}
	return all
}

// Complaints is what Check finds wrong.
func Complaints(t *testing.T, d Library, url string) []string {
	t.Helper()
	store, err := d.Try(url, Way{})
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = store.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var said []string
	for _, check := range doctor.Check(ctx, store, nil) {
		if check.State == doctor.Fail || check.State == doctor.Warn {
			said = append(said, fmt.Sprintf("%s: %s", check.Name, check.Finding))
		}
	}
	return said
}
