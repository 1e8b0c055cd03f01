package holdfast

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// Export gives the hold of the name away: what it returns lets another process
// go on with it by Client.Adopt, without the name being free in between. This
// lease ends, with cause Exported, and its contexts do; stop what works under it
// first. Exactly one process can adopt it, and only within the ttl of this
// Client, which Export makes whole by asking Redis once; if nobody does, the name
// goes to the next in line when that has passed. Nothing here can end it before.
//
// The text is one line of printable ASCII without spaces. It is a CAPABILITY:
// whoever reads it can take the lock. Give it to the next process by a pipe or the
// environment, not through logs.
//
// An error leaves the lease as it was: ErrLost and ErrReleased (a second Export is
// ErrLost, cause Exported), ErrUnreachable and what else EnsureHeld says, and a
// lease that several callers share by Mutex.Reentrant, or whose Mutex.MinHold is not over. After success Release does nothing and
// returns nil. Callers of this process that wait for the name stand in line for it as others
// do. A Client of a quorum can't, nor can a lease of an Election, a Semaphore or an RWMutex.
func (l *Lease) Export() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.turn
	c := u.line.c
	switch {
	case c.quorum != nil:
		return "", notOnQuorum(l.Name(), "Export")
	case u.line.shared != nil:
		return "", errNotShared(l.Name(), "Export")
	case u.line.candidate != nil:
		return "", &storeError{l.Name(), nil, errors.New("Export does not work for an election: its leader is who campaigned")}
	case l.released:
		return "", l.Err()
	}
	c.mu.Lock()
	err := u.shared()
	c.mu.Unlock()
	if err != nil {
		return "", err
	}
	if err := u.ensure(context.Background()); err != nil {
		return "", err
	}
	if err := c.export(u); err != nil {
		return "", err
	}
	l.released = true // and result is nil
	return exportText(c.options.Prefix, l.Name(), u.tenure.id), nil
}

func (u *turn) shared() error {
	if u.shares > 1 {
		return &storeError{u.line.name, nil, fmt.Errorf("%d leases share it (Mutex.Reentrant): it can't be exported before the others are released", u.shares)}
	}
	return nil
}

// export ends a turn and forgets its tenure: nobody here may end that any more.
func (c *core) export(u *turn) error {
	l, t := u.line, u.tenure
	c.mu.Lock()
	defer c.unlock()
	now := c.clock.look()
	if l.turn == u && now >= t.ends() {
		l.expire(now)
	}
	if e := u.ended.Load(); e != nil {
		return e.err
	}
	if err := u.shared(); err != nil {
		return err
	}
	if t.rests(now) {
		return &storeError{l.name, nil, errors.New("its least time of holding (Mutex.MinHold) is not over: it can't be exported before")}
	}
	c.exported.add(t.id, l, now, c.options.TTL+time.Minute)
	delete(c.tenures, t.id)
	t.phase = over
	l.turn, l.tenure, l.lingers = nil, nil, 0
	u.finish(&LostError{Name: l.name, Token: u.token, Cause: Exported}, now)
	l.step(now)
	return nil
}

// The text of an export: a word that names the form, and in base64 prefix, name
// and id, a zero byte between them, and a checksum of these against what copying
// does.
const exportWord = "holdfast1-"

var errExport = errors.New("this is no whole text of Lease.Export")

func exportText(prefix, name, id string) string {
	data := []byte(prefix + "\x00" + name + "\x00" + id)
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	return exportWord + idEncoding.EncodeToString(data)
}

func parseExport(text string) (prefix, name, id string, err error) {
	coded, ok := strings.CutPrefix(strings.TrimSpace(text), exportWord)
	data, err := idEncoding.Strict().DecodeString(coded)
	if !ok || err != nil || len(data) < 4 {
		return "", "", "", errExport
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	parts := strings.Split(string(body), "\x00")
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) || len(parts) != 3 {
		return "", "", "", errExport
	}
	if _, ours := parseID(parts[2]); !ours {
		return "", "", "", errExport
	}
	return parts[0], parts[1], parts[2], nil
}
