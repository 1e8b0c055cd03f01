//go:build !linux

package bench

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

func onOneProcessor[T any](func(*redistest.Server) (T, error)) func(*redistest.Server) (T, error) {
	return func(*redistest.Server) (value T, err error) {
		return value, errors.New("a process can be kept on one processor on Linux only")
	}
}
