package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/guard"
)

// statusFile keeps the state of a run in a file that is complete at any moment.
// A nil *statusFile is none.
type statusFile struct {
	path  string
	asked time.Time
	began time.Time // of holding; zero: it does not, or did not
	now   statusJSON

	theirs bool // the code is the command's own
	loss   error
}

// statusJSON is the content of the file. Its names are promised.
type statusJSON struct {
	Name     string     `json:"name"`
	Phase    string     `json:"phase"`
	PID      int        `json:"pid"`
	Asked    time.Time  `json:"asked"`
	Began    *time.Time `json:"began"`
	Ended    *time.Time `json:"ended"`
	WaitedMS *int64     `json:"waited_ms"`
	HeldMS   *int64     `json:"held_ms"`
	Owner    string     `json:"owner"`
	Token    int64      `json:"token"`
	Code     *int       `json:"code"`
	CodeOf   string     `json:"code_of"`
	Cause    string     `json:"cause"`
	Loss     string     `json:"loss"`
	Message  string     `json:"message"`
}

// newStatusFile makes the file, which shows that it can be made before anything is
// waited for.
func newStatusFile(path, name string) (*statusFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // a nil statusFile is none
	}
	s := &statusFile{path: path, asked: time.Now()}
	s.now = statusJSON{Name: name, Phase: "waiting", PID: os.Getpid(), Asked: s.asked.UTC()}
	if err := s.write(); err != nil {
		return nil, cli.Exit(cli.ExitConfig, fmt.Errorf("--status-file: %w", err))
	}
	return s, nil
}

// granted notes that we hold the name.
func (s *statusFile) granted(a *cli.App, owner string, lease *holdfast.Lease) {
	if s == nil {
		return
	}
	s.began = time.Now()
	s.now.Phase, s.now.Owner, s.now.Token = "running", owner, lease.Token()
	s.now.Began = new(s.began.UTC())
	s.now.WaitedMS = new(s.began.Sub(s.asked).Milliseconds())
	s.try(a)
}

// over notes that we hold it no longer: how the command ended, and what the release
// said.
func (s *statusFile) over(end guard.Ending, released error) {
	if s == nil {
		return
	}
	s.now.HeldMS = new(time.Since(s.began).Milliseconds())
	if s.loss = end.Lost; s.loss == nil && errors.Is(released, holdfast.ErrLost) {
		s.loss = released
	}
	s.theirs = end.Err == nil && s.loss == nil
}

// ended notes what a run ended with, its error, and returns that.
func (s *statusFile) ended(a *cli.App, err error) error {
	if s == nil {
		return err
	}
	code := a.ExitCode(err)
	s.now.Phase, s.now.Ended, s.now.Code, s.now.CodeOf = "ended", new(time.Now().UTC()), &code, "command"
	if !s.theirs {
		s.now.CodeOf, s.now.Cause, s.now.Loss = "holdfast", cli.ExitWord(code), lossWord(s.loss)
		if a.Busy {
			s.now.Cause = cli.ExitWord(cli.ExitTempFail)
		}
		if coded := (*cli.ExitError)(nil); err != nil && (!errors.As(err, &coded) || coded.Err != nil) {
			s.now.Message = cli.Redact(a.Explain(err), a.RedisURL)
		}
	}
	s.try(a)
	return err
}

func lossWord(err error) string {
	if lost, ok := errors.AsType[*holdfast.LostError](err); ok {
		return string(lost.Cause)
	}
	return ""
}

// try writes what the command must not fail for.
func (s *statusFile) try(a *cli.App) {
	if err := s.write(); err != nil {
		a.Complain(fmt.Sprintf("--status-file: %v", err))
	}
}

func (s *statusFile) write() error {
	var text bytes.Buffer
	if err := console.PrintJSON(&text, s.now); err != nil {
		return err
	}
	return cli.ReplaceFile(s.path, text.Bytes(), 0o644)
}
