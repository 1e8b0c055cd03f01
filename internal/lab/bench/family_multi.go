package bench

import (
	"context"
	"errors"
	"strconv"

	"github.com/holdfast-go/holdfast"
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

var holdfastMulti = ofFamily("",
	func(client *holdfast.Client, name string) (mutex, error) {
		return &multiLocked{multi: client.Multi(namesOf(name)...)}, nil
	})

type multiLocked struct {
	multi *holdfast.Multi
	lease *holdfast.MultiLease
}

func (m *multiLocked) lock(ctx context.Context) (err error) {
	m.lease, err = m.multi.Lock(ctx)
	return err
}

func (m *multiLocked) unlock() error { return m.lease.Release() }

// severally is a contender that locks three names one after the other, and gives
// them back so.
func severally(c contender) contender {
	open := c.open
	c.settings = "three locks one after the other, then three releases."
	c.open = func(s setup) (session, error) {
		one, err := open(s)
		return severalSession{one}, err
	}
	return c
}

type severalSession struct{ session }

func (s severalSession) mutex(caller int, name string) (mutex, error) {
	var all several
	for _, name := range namesOf(name) {
		m, err := s.session.mutex(caller, name)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

type several []mutex

func (all several) lock(ctx context.Context) error {
	for i, m := range all {
		if err := m.lock(ctx); err != nil {
			return errors.Join(err, all[:i].unlock())
		}
	}
	return nil
}

func (all several) unlock() error {
	var failed error
	for _, m := range all {
		failed = errors.Join(failed, m.unlock())
	}
	return failed
}
