//go:build !unix

package callers

import "errors"

func mapShared(string, int) ([]byte, error) {
	return nil, errors.New("this system has no mmap: run the benchmark on Linux or macOS")
}
