package admin_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

const quorumID = "orders/1/3-5f3a9c0d1e"

// node is a store that answers mutex/inspect with a vote for a tenure.
func node(voted string, token int64) *fake {
	return &fake{eval: func(driver.Call) ([]string, error) { return state(voted, token), nil }}
}

func off(err error) *fake {
	return &fake{eval: func(driver.Call) ([]string, error) { return nil, err }, scan: err}
}

func silent(keys ...string) *fake { return &fake{hangs: true, keys: keys} }

func quorumOf(nodes ...driver.Store) *admin.Quorum { return admin.NewQuorum(quorumID, nil, nodes...) }

func TestQuorumInspect(t *testing.T) {
	other := "other.nonce.30000|you:2"
	for name, test := range map[string]struct {
		nodes  []driver.Store
		holder string // its owner
		token  int64
		took   time.Duration
	}{
		"all agree":                        {nodes: []driver.Store{node(id+":7", 7), node(id+":7", 7), node(id+":7", 7)}, holder: "me:1", token: 7},
		"the newest token counts":          {nodes: []driver.Store{node(id+":7", 7), node(id+":7", 7), node(other+":9", 9)}, holder: "me:1", token: 9},
		"no majority has one holder":       {nodes: []driver.Store{node(id+":7", 7), node(other+":9", 9), node("", 3)}, token: 9},
		"a free name":                      {nodes: []driver.Store{node("", 7), node("", 7), node("", 9)}, token: 9},
		"two agree and one is off":         {nodes: []driver.Store{node(id+":7", 7), off(errGone), node(id+":7", 7)}, holder: "me:1", token: 7},
		"two agree and one is silent":      {nodes: []driver.Store{node(id+":7", 7), silent(), node(id+":7", 7)}, holder: "me:1", token: 7},
		"two differ and one is silent":     {nodes: []driver.Store{node(id+":7", 7), silent(), node("", 9)}, token: 9, took: 200 * time.Millisecond},
		"two agree and one talks nonsense": {nodes: []driver.Store{node(id+":7", 7), scripted(nil), node(id+":7", 7)}, holder: "me:1", token: 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got, err := quorumOf(test.nodes...).Inspect(t.Context(), "n")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			owner := ""
			if got.Holder != nil {
				owner = got.Holder.Owner
			}
			// A token is the newest of those that had answered when a majority agreed.
			if owner != test.holder || got.Token > test.token || owner == "" && got.Token != test.token || !got.Quorum || got.Key != "holdfast:n" {
				t.Errorf("%s: got %+v of %+v, want %q with token %d", name, got, got.Holder, test.holder, test.token)
			}
			if took := time.Since(began); took != test.took {
				t.Errorf("%s: it took %v, want %v", name, took, test.took)
			}
			time.Sleep(time.Minute)
		})
	}
}

// Foreign values that leave no majority hold a name, though each is of another client.
func TestQuorumForeign(t *testing.T) {
	for name, test := range map[string]struct {
		nodes []driver.Store
		held  bool
	}{
		"two of three":                 {[]driver.Store{node("x", 0), node("y", 0), node("", 0)}, true},
		"one of three":                 {[]driver.Store{node("x", 0), node("", 0), node("", 0)}, false},
		"one, and a vote":              {[]driver.Store{node("x", 0), node(id+":7", 7), node("", 0)}, false},
		"two, and one does not answer": {[]driver.Store{node("x", 0), node("y", 0), off(errGone)}, true},
	} {
		got, err := quorumOf(test.nodes...).Inspect(t.Context(), "n")
		if err != nil || (got.Holder != nil) != test.held || test.held && !got.Holder.Foreign {
			t.Errorf("%s: got %+v, %v, want a foreign holder: %v", name, got, err, test.held)
		}
	}
}

// Without a majority the error has that of each node.
func TestQuorumUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quorumOf(off(errGone), node(id+":7", 7), scripted(nil))
		for range 2 {
			_, err := q.Inspect(t.Context(), "n")
			got, ok := errors.AsType[*holdfast.QuorumError](err)
			if !ok || !errors.Is(err, holdfast.ErrUnreachable) {
				t.Fatalf("got %v, want ErrUnreachable with a QuorumError", err)
			}
			_, said := errors.AsType[driver.ServerError](got.Nodes[2])
			if got.Need != 2 || !errors.Is(got.Nodes[0], errGone) || got.Nodes[1] != nil || !said {
				t.Errorf("got %+v, want the errors of the first and the third node", got)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := quorumOf(silent(), silent(), silent()).Inspect(ctx, "n"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		began := time.Now()
		if _, err := quorumOf(silent(), silent(), silent()).Inspect(t.Context(), "n"); !errors.Is(err, holdfast.ErrUnreachable) || time.Since(began) != 15*time.Second {
			t.Errorf("got %v after %v, want ErrUnreachable after 15s", err, time.Since(began))
		}
		if _, err := q.Inspect(t.Context(), ""); err == nil {
			t.Error("no name: got no error")
		}
		time.Sleep(time.Minute)
	})
}

func fences(names ...string) (keys []string) {
	for _, name := range names {
		keys = append(keys, keyspace.KeysBeside("holdfast:"+name).Fence())
	}
	return keys
}

// A node that hangs keeps the names that a majority knows from nobody.
func TestQuorumNames(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  []driver.Store
		prefix string
		want   []string
		took   time.Duration
		err    error
	}{
		"each once":         {nodes: []driver.Store{&fake{keys: fences("a", "b")}, &fake{keys: fences("b", "c")}, &fake{keys: fences("c", "a")}}, want: []string{"a", "b", "c"}},
		"by a prefix":       {nodes: []driver.Store{&fake{keys: fences("a", "b")}, &fake{keys: fences("b", "c")}, &fake{keys: fences("ba")}}, prefix: "b", want: []string{"b", "ba"}},
		"one hangs":         {nodes: []driver.Store{silent(fences("early")...), &fake{keys: fences("a", "b")}, &fake{keys: fences("b", "c")}}, want: []string{"a", "b", "c", "early"}, took: 200 * time.Millisecond},
		"one is off":        {nodes: []driver.Store{off(errGone), &fake{keys: fences("a")}, &fake{keys: fences("b")}}, want: []string{"a", "b"}},
		"a majority is off": {nodes: []driver.Store{off(errGone), &fake{keys: fences("a")}, off(errGone)}, want: []string{"a"}, err: holdfast.ErrUnreachable},
		"a majority hangs":  {nodes: []driver.Store{silent(), &fake{keys: fences("a")}, silent()}, want: []string{"a"}, took: 5 * time.Second, err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			got, err := namesOf(ctx, quorumOf(test.nodes...), test.prefix)
			slices.Sort(got)
			if !slices.Equal(got, test.want) || !errors.Is(err, test.err) || time.Since(began) != test.took {
				t.Errorf("%s: got %q, %v after %v, want %q, %v after %v", name, got, err, time.Since(began), test.want, test.err, test.took)
			}
			time.Sleep(time.Minute)
		})
	}
	synctest.Test(t, func(t *testing.T) { // a caller that wants no more leaves no scan behind
		for _, err := range quorumOf(silent(fences("a")...), silent(fences("b")...), silent()).Names(t.Context(), "") {
			_ = err
			break
		}
		time.Sleep(time.Minute)
	})
}

func TestQuorumSurvey(t *testing.T) {
	keys := fences("b", "a")
	answers := func(call driver.Call) ([]string, error) {
		if call.Keys[0] == "holdfast:b" {
			return nil, driver.ServerError("WRONGTYPE Operation")
		}
		return state(id+":7", 7), nil
	}
	surveyed := func(ctx context.Context, eval func(driver.Call) ([]string, error)) (*admin.Survey, error) {
		q := quorumOf(&fake{keys: keys, eval: eval}, &fake{keys: keys, eval: eval}, &fake{keys: keys, eval: eval})
		return q.Survey(ctx, "", 0)
	}
	s, err := surveyed(t.Context(), answers)
	if err != nil || len(s.Names) != 2 || s.Names[0].Holder == nil || !errors.Is(s.Names[1].Err, holdfast.ErrUnreachable) {
		t.Fatalf("got %+v, %v, want a, held, and b with an error", s, err)
	}
	s, err = surveyed(t.Context(), func(driver.Call) ([]string, error) { return nil, errGone })
	if s != nil || !errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("got %+v, %v, want ErrUnreachable", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err = surveyed(ctx, func(driver.Call) ([]string, error) { cancel(); return state(id+":7", 7), nil })
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v, want the end of the context", s, err)
	}
}

func TestOfQuorum(t *testing.T) {
	nodes := []driver.Store{node(id+":7", 7), node(id+":7", 7), node(id+":7", 7)}
	client := holdfast.NewQuorum(quorumID, &holdfast.QuorumOptions{Prefix: "app:"}, nodes...)
	defer client.Close()
	q := admin.OfQuorum(client)
	if got, err := q.Inspect(t.Context(), "n"); err != nil || q.ID() != quorumID || got.Key != "app:n" || got.Holder.Own {
		t.Errorf("got %+v, %v of %s, want app:n of %s, held by another", got, err, q.ID(), quorumID)
	}
}
