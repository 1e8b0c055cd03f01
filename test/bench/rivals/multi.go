package rivals

import (
	"context"
	"errors"
	"strconv"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// multiNames is how many names are locked together.
const multiNames = 3

func namesOf(name string) []string {
	var all []string
	for i := range multiNames {
		all = append(all, name+":"+strconv.Itoa(i))
	}
	return all
}

// HoldfastMulti locks several names at once.
var HoldfastMulti = ofFamily("",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		return &multiLocked{multi: client.Multi(namesOf(name)...)}, nil
	})

type multiLocked struct {
	multi *holdfast.Multi
	lease *holdfast.MultiLease
}

func (m *multiLocked) Lock(ctx context.Context) (err error) {
	m.lease, err = m.multi.Lock(ctx)
	return err
}

func (m *multiLocked) Unlock() error { return m.lease.Release() }

// Severally is a contender that locks three names one after the other, and gives
// them back so.
func Severally(c contend.Contender) contend.Contender {
	open := c.Open
	c.Settings = "three locks one after the other, then three releases."
	c.Open = func(s contend.Setup) (contend.Session, error) {
		one, err := open(s)
		return severalSession{one}, err
	}
	return c
}

type severalSession struct{ contend.Session }

func (s severalSession) Mutex(caller int, name string) (contend.Mutex, error) {
	var all several
	for _, name := range namesOf(name) {
		m, err := s.Session.Mutex(caller, name)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

type several []contend.Mutex

func (all several) Lock(ctx context.Context) error {
	for i, m := range all {
		if err := m.Lock(ctx); err != nil {
			return errors.Join(err, all[:i].Unlock())
		}
	}
	return nil
}

func (all several) Unlock() error {
	var failed error
	for _, m := range all {
		failed = errors.Join(failed, m.Unlock())
	}
	return failed
}
