//go:build !unix

package redistest

import "errors"

var errNoSignals = errors.New("redistest: this system cannot freeze a process")

func (p *process) freeze() error { return errNoSignals }

func (p *process) thaw() error { return errNoSignals }
