package bulk

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// onOneProcessor makes the server, and all that f starts, do with one processor of the
// machine.
func onOneProcessor(f func(*redistest.Server) (service, error)) func(*redistest.Server) (service, error) {
	return func(server *redistest.Server) (done service, err error) {
		runtime.LockOSThread() // what a thread starts has the processors of the thread
		defer runtime.UnlockOSThread()
		var all, one unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			return done, err
		}
		for i := 0; one.Count() == 0; i++ {
			if all.IsSet(i) {
				one.Set(i)
			}
		}
		use := func(processors *unix.CPUSet) error {
			return errors.Join(unix.SchedSetaffinity(server.Pid(), processors), unix.SchedSetaffinity(0, processors))
		}
		if err = use(&one); err == nil {
			done, err = f(server)
		}
		return done, errors.Join(err, use(&all))
	}
}
