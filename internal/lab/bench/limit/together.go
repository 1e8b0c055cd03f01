package limit

import (
	"context"
	"crypto/rand"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/internal/lab/bench/contend"
)

// togetherLimit is limit-token whose requests travel together when there are many: the
// clerks of a client take what has come, up to a pipeline each, and no request waits
// while a clerk is free.
var togetherLimit = contend.Contender{
	Who: "limit-token-together", Library: "rueidis",
	Settings: "limit-token-rueidis with pipelines of up to 64 requests, as in holdfast.",
	Sends:    []string{"evalsha", "script", "ping"},
	Open: contend.OnRueidis(func(rc rueidis.Client) contend.Session {
		s := &togetherSession{rc: rc, requests: make(chan *errand, clerks*errandsAtOnce)}
		for range clerks {
			go s.clerk()
		}
		return s
	}),
}

const (
	clerks        = 8
	errandsAtOnce = 64
)

// errand is one request on its way.
type errand struct {
	command rueidis.Completed
	done    chan error // of 1
}

type togetherSession struct {
	rc       rueidis.Client
	requests chan *errand
}

func (s *togetherSession) Close() { s.rc.Close() } // the clerks end with the process

// clerk carries requests for as long as the process lives.
func (s *togetherSession) clerk() {
	var errands []*errand
	var commands rueidis.Commands
	for first := range s.requests {
		errands, commands = append(errands[:0], first), append(commands[:0], first.command)
	more:
		for len(errands) < errandsAtOnce {
			select {
			case e := <-s.requests:
				errands, commands = append(errands, e), append(commands, e.command)
			default:
				break more
			}
		}
		for i, reply := range s.rc.DoMulti(context.Background(), commands...) {
			errands[i].done <- reply.Error()
		}
	}
}

func (s *togetherSession) Mutex(_ int, name string) (contend.Mutex, error) {
	m := &togetherMutex{session: s, keys: tokenKeys(name), id: rand.Text(), errand: errand{done: make(chan error, 1)}}
	for script, sha := range map[string]*string{setWithToken: &m.set, deleteForNobody: &m.remove} {
		var err error
		if *sha, err = s.rc.Do(context.Background(), s.rc.B().ScriptLoad().Script(script).Build()).ToString(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

type togetherMutex struct {
	session     *togetherSession
	keys        []string
	id          string
	set, remove string // SHA
	errand      errand
}

func (m *togetherMutex) Lock(context.Context) error { return m.do(m.set, m.id, contend.TTLText) }
func (m *togetherMutex) Unlock() error              { return m.do(m.remove, m.id) }

func (m *togetherMutex) do(sha string, args ...string) error {
	m.errand.command = m.session.rc.B().Evalsha().Sha1(sha).Numkeys(int64(len(m.keys))).Key(m.keys...).Arg(args...).Build()
	m.session.requests <- &m.errand
	return <-m.errand.done
}
