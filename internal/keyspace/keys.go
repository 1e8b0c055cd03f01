// Package keyspace names what holdfast stores in Redis: the keys of a name, their hash slot
// in a Redis Cluster, and the channels beside them. It also makes and reads ids, and cleans
// the labels in them.
//
// The prefix and a name make the lock key. All other keys of the name begin with [Reserved]
// and are derived from the lock key. They lie in its slot, so that one script can use all of
// them. No lock key begins with Reserved. docs/protocol.md says what each key holds.
//
// An error completes a sentence about the name or the prefix, such as "is empty". Nothing
// here talks to Redis.
package keyspace

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reserved is what the keys beside a lock key begin with, and all channels.
const Reserved = "holdfast/"

const (
	fencePrefix        = Reserved + "fence:"
	queuePrefix        = Reserved + "queue:"
	holdersPrefix      = Reserved + "holders:"
	sizePrefix         = Reserved + "size:"
	revocationPrefix   = Reserved + "revocation:"
	revocationOfPrefix = Reserved + "revocation/" // and client, nonce, shard suffix
	writtenPrefix      = Reserved + "written:"
	oncePrefix         = Reserved + "once:"
	wantedPrefix       = Reserved + "wanted:"
	termPrefix         = Reserved + "term" // and the shard suffix
	clientPrefix       = Reserved + "client:"
	pushPrefix         = Reserved + "push:"
)

const (
	// Channels matches all channels.
	Channels = pushPrefix + "*"
	// Marker is the key in which a node of a quorum stores the quorum-id for which it
	// votes.
	Marker = Reserved + "marker"
)

const maxKey = 512

// Keys are the keys of one name that most scripts take, in this order: lock, fence and queue.
// See docs/protocol.md.
type Keys [3]string

// KeysOf makes the keys of a name. The error is the reason why it is not a name.
func KeysOf(prefix, name string) (*Keys, error) {
	if name == "" {
		return nil, errors.New("is empty")
	}
	lock := prefix + name
	if err := checkKey(lock); err != nil {
		return nil, err
	}
	return KeysBeside(lock), nil
}

// KeysBeside makes the keys beside a lock key. It writes all into one string that also has
// the lock key.
//
// A key without braces hashes as a whole, so the tag {lock} puts the others into its slot. A
// lock key that has a valid tag of its own keeps it, and a second colon keeps its keys apart
// from those of a lock key that is that tag.
func KeysBeside(lock string) *Keys {
	before, after := "{", "}"
	if tagged(lock) {
		before, after = ":", ""
	}
	var b strings.Builder
	b.Grow(len(fencePrefix) + len(queuePrefix) + 2*(len(lock)+2))
	b.WriteString(fencePrefix)
	b.WriteString(before)
	at := b.Len()
	b.WriteString(lock)
	b.WriteString(after)
	end := b.Len()
	b.WriteString(queuePrefix)
	b.WriteString(before)
	b.WriteString(lock)
	b.WriteString(after)
	all := b.String()
	return &Keys{all[at : at+len(lock)], all[:end], all[end:]}
}

// Lock is the lock key. Its value is the id of the holder.
func (k *Keys) Lock() string { return k[0] }

// Fence is the key of the last fencing token reserved.
func (k *Keys) Fence() string { return k[1] }

// Queue is the key of the waiters.
func (k *Keys) Queue() string { return k[2] }

// Revocation is the key of what Revoke or Steal ordered.
func (k *Keys) Revocation() string { return revocationPrefix + beside(k.Lock()) }

// RevocationOf is the key of what Revoke or Steal ordered of one holder of a shared kind.
// Several may be meant at a time.
func (k *Keys) RevocationOf(id string) string {
	client, rest, _ := strings.Cut(id, ".")
	nonce, _, _ := strings.Cut(rest, ".")
	return revocationOfPrefix + client + "." + nonce + k.ShardSuffix()
}

// Written is the key in which the scripts of Lease.Eval note the token that wrote last.
func (k *Keys) Written() string { return writtenPrefix + beside(k.Lock()) }

// Wanted is the key in which a node of a quorum notes that the name is waited for.
func (k *Keys) Wanted() string { return wantedPrefix + beside(k.Lock()) }

// WithRevocation returns all keys of a mutex.
func (k *Keys) WithRevocation() []string { return append(k[:], k.Revocation()) }

// ToRenew returns the keys of the script renew. It needs the fence key, the last one, only
// to reserve tokens.
func (k *Keys) ToRenew() []string {
	return []string{k.Lock(), k.Queue(), k.Revocation(), k.Fence()}
}

// WithHolders returns the keys as the scripts of the shared kinds take them: the fourth is
// that of the holders.
func (k *Keys) WithHolders() []string {
	return []string{k.Lock(), k.Fence(), k.Queue(), k.Holders()}
}

// Holders is the key of the holders of a shared kind.
func (k *Keys) Holders() string { return holdersPrefix + beside(k.Lock()) }

// WithSize returns those of WithHolders and the key of a semaphore's size.
func (k *Keys) WithSize() []string { return append(k.WithHolders(), k.Size()) }

// Size is the key of a semaphore's size.
func (k *Keys) Size() string { return sizePrefix + beside(k.Lock()) }

// WithTerm returns the lock key and that of the term that was announced.
func (k *Keys) WithTerm() []string { return []string{k.Lock(), k.Term()} }

// Term is the key of the term that was announced.
func (k *Keys) Term() string { return termPrefix + k.ShardSuffix() }

// WithOnce returns the lock key and that of the newest run of Once.
func (k *Keys) WithOnce() []string { return []string{k.Lock(), oncePrefix + beside(k.Lock())} }

// ShardSuffix is what the sharded channels of a name end with, so that they lie in its slot.
func (k *Keys) ShardSuffix() string { return ":" + beside(k.Lock()) }

// ElectionChannel is the channel on which an election is announced.
func (k *Keys) ElectionChannel() string { return pushPrefix + "election" + k.ShardSuffix() }

// PushChannel is the channel on which a Client is notified, with the shard suffix of one name, or with "" for all where channels are not sharded.
func PushChannel(client, shardSuffix string) string { return pushPrefix + client + shardSuffix }

// Details is the key of the process details of a Client. It belongs to no name.
func Details(client string) string { return clientPrefix + client }

// beside is how the lock key is named in the keys and channels beside it.
func beside(lock string) string {
	if tagged(lock) {
		return ":" + lock
	}
	return "{" + lock + "}"
}

// tagged reports whether a lock key has a hash tag of its own. A checked key has a brace
// nowhere else.
func tagged(lock string) bool { return strings.HasPrefix(lock, "{") }

// checkKey says why a string cannot be a lock key.
func checkKey(lock string) error {
	switch {
	case len(lock) > maxKey:
		return errors.New("is too long: with the prefix at most 512 bytes")
	case !utf8.ValidString(lock):
		return errors.New("is not valid UTF-8")
	case strings.ContainsFunc(lock, unicode.IsControl):
		return errors.New("has a control character")
	case strings.HasPrefix(lock, Reserved):
		return errors.New(`makes a key that begins with "holdfast/", which is reserved`)
	}
	if !strings.ContainsAny(lock, "{}") {
		return nil
	}
	end := strings.IndexByte(lock, '}')
	if lock[0] != '{' || end < 2 || strings.Count(lock, "{") > 1 || strings.Count(lock, "}") > 1 {
		return errors.New(`has a brace: only one hash tag is allowed, not empty, at the very beginning of prefix and name, as in "{user:1}:inbox"`)
	}
	return nil
}

// CheckPrefix says why no name could have this prefix.
func CheckPrefix(prefix string) error {
	switch {
	case prefix == "":
		return nil
	case strings.ContainsAny(prefix, "{}"):
		return checkKey(prefix)
	}
	return checkKey(prefix + "x")
}

// Prefix resolves a prefix option: "" is the default and "\x00" is none.
func Prefix(option string) string {
	switch option {
	case "":
		return "holdfast:"
	case "\x00":
		return ""
	}
	return option
}
