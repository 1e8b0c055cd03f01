package holdfast

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keys are the keys of one name, all in one slot of a Redis Cluster: L, F and Q,
// as scripts want them.
type keys [3]string

func (k *keys) lock() string  { return k[0] } // L: the lock itself
func (k *keys) fence() string { return k[1] } // F: the last token reserved
func (k *keys) queue() string { return k[2] } // Q: the waiters

// order is R: what was ordered by Revoke or Steal.
func (k *keys) order() string {
	return orderPrefix + beside(k.lock(), strings.HasPrefix(k.lock(), "{"))
}

// withOrder are all keys of the name.
func (k *keys) withOrder() []string { return append(k[:], k.order()) }

// orderOf is what was ordered by Revoke or Steal of one holder of a shared kind, of
// which several may be meant at a time.
func (k *keys) orderOf(id string) string {
	client, rest, _ := strings.Cut(id, ".")
	nonce, _, _ := strings.Cut(rest, ".")
	return partOrderPrefix + client + "." + nonce + shardSuffix(k.lock())
}

// toRenew are the keys of renew. Without a stride it needs no F.
func (k *keys) toRenew() []string {
	return []string{k.lock(), k.queue(), k.order(), k.fence()}
}

const (
	reserved    = "holdfast/" // L must not begin like the keys beside it
	fencePrefix = reserved + "fence:"
	queuePrefix = reserved + "queue:"
	orderPrefix = reserved + "revoked:"
	wakePrefix  = reserved + "wake:"
	termPrefix  = reserved + "term" // and the shard suffix
	maxKey      = 512

	wantedPrefix    = reserved + "wanted:"
	holdersPrefix   = reserved + "holders:" // H: the holders of a shared kind
	partOrderPrefix = reserved + "revoked/" // and client, nonce, shard suffix

	sizePrefix = reserved + "size:" // the size of a semaphore
)

// keysOf makes the keys of a name.
//
// A key without braces hashes as a whole, so the tag {L} puts the others into
// its slot. An L that has a valid tag of its own keeps it, and a second colon
// keeps its keys apart from those of an L that is that tag.
func keysOf(prefix, name string) (*keys, error) {
	if name == "" {
		return nil, &NameError{name, "is empty"}
	}
	l := prefix + name
	tagged, err := checkKey(l)
	if err != nil {
		return nil, &NameError{name, err.Error()}
	}
	return besideIn(l, tagged), nil
}

// besideIn writes the keys into one string, of which L is a part, too.
func besideIn(l string, tagged bool) *keys {
	before, after := "{", "}"
	if tagged {
		before, after = ":", ""
	}
	var b strings.Builder
	b.Grow(len(fencePrefix) + len(queuePrefix) + 2*(len(l)+2))
	b.WriteString(fencePrefix)
	b.WriteString(before)
	at := b.Len()
	b.WriteString(l)
	b.WriteString(after)
	end := b.Len()
	b.WriteString(queuePrefix)
	b.WriteString(before)
	b.WriteString(l)
	b.WriteString(after)
	all := b.String()
	return &keys{all[at : at+len(l)], all[:end], all[end:]}
}

// beside returns how L is named in the keys and channels that stand beside it.
func beside(l string, tagged bool) string {
	if tagged {
		return ":" + l
	}
	return "{" + l + "}"
}

// withHolders are L, F, Q and H, as the scripts of the shared kinds want them.
func (k *keys) withHolders() []string {
	l := k.lock()
	return []string{l, k.fence(), k.queue(), holdersPrefix + beside(l, strings.HasPrefix(l, "{"))}
}

// withSize are those and the size key, as the scripts want them that set a size.
func (k *keys) withSize() []string { return append(k.withHolders(), k.size()) }

func (k *keys) size() string {
	l := k.lock()
	return sizePrefix + beside(l, strings.HasPrefix(l, "{"))
}

// shardOf is the shard suffix of a name, empty where channels are not sharded.
func (c *core) shardOf(k *keys) string {
	if !c.store.Sharded() {
		return ""
	}
	return shardSuffix(k.lock())
}

// shardSuffix is what a sharded wake channel has behind the client.
func shardSuffix(l string) string {
	return ":" + beside(l, strings.HasPrefix(l, "{"))
}

// checkKey says whether L can be a key, and whether it has a hash tag of its
// own.
func checkKey(l string) (tagged bool, err error) {
	switch {
	case len(l) > maxKey:
		return false, errors.New("is too long: with the prefix at most 512 bytes")
	case !utf8.ValidString(l):
		return false, errors.New("is not valid UTF-8")
	case strings.ContainsFunc(l, unicode.IsControl):
		return false, errors.New("has a control character")
	case strings.HasPrefix(l, reserved):
		return false, errors.New(`makes a key that begins with "holdfast/", which is reserved`)
	}
	if !strings.ContainsAny(l, "{}") {
		return false, nil
	}
	end := strings.IndexByte(l, '}')
	if l[0] != '{' || end < 2 || strings.Count(l, "{") > 1 || strings.Count(l, "}") > 1 {
		return false, errors.New(`has a brace: only one hash tag is allowed, not empty, at the very beginning of prefix and name, as in "{user:1}:inbox"`)
	}
	return true, nil
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if strings.ContainsAny(prefix, "{}") {
		_, err := checkKey(prefix)
		return err
	}
	_, err := checkKey(prefix + "x")
	return err
}

// nameOfFence is the inverse of the fence key, for finding names again.
func nameOfFence(prefix, fence string) (name string, ok bool) {
	l, ok := strings.CutPrefix(fence, fencePrefix)
	if !ok {
		return "", false
	}
	if own, tagged := strings.CutPrefix(l, ":"); tagged {
		l = own
	} else if len(l) > 2 && l[0] == '{' && l[len(l)-1] == '}' {
		l = l[1 : len(l)-1]
	} else {
		return "", false
	}
	name, ok = strings.CutPrefix(l, prefix)
	if !ok || name == "" {
		return "", false
	}
	if back, err := keysOf(prefix, name); err != nil || back.fence() != fence {
		return "", false
	}
	return name, true
}

func printable(r rune) bool { return unicode.IsPrint(r) }
