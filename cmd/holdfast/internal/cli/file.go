package cli

import (
	"os"
	"path/filepath"
)

// ReplaceFile replaces a file at once: a reader finds the old text or the new one.
func ReplaceFile(path string, text []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if closing := temporary.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
