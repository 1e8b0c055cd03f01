//go:build !linux

package bulk

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

func onOneProcessor(func(*redistest.Server) (service, error)) func(*redistest.Server) (service, error) {
	return func(*redistest.Server) (done service, err error) {
		return done, errors.New("a process can be kept on one processor on Linux only")
	}
}
