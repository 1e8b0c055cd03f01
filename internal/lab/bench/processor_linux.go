package bench

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// onOneProcessor makes the server, and all that f starts, do with one processor of the
// machine.
func onOneProcessor[T any](f func(*redistest.Server) (T, error)) func(*redistest.Server) (T, error) {
	return func(server *redistest.Server) (value T, err error) {
		runtime.LockOSThread() // what a thread starts has the processors of the thread
		defer runtime.UnlockOSThread()
		var all, one unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			return value, err
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
			value, err = f(server)
		}
		return value, errors.Join(err, use(&all))
	}
}
