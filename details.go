package holdfast

import (
	"github.com/holdfast-go/holdfast/internal/details"
)

// Details describe the process of a Client to people. Users with read access to Redis
// can read them, so they must hold no secret. Users with write access can forge them.
// All fields may be empty. Unprintable characters become "_", and each field is cut to
// [MaxDetail] bytes.
type Details struct {
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	User    string `json:"user,omitempty"`
	Program string `json:"program,omitempty"` // file name of the program
	Command string `json:"command,omitempty"` // command that runs while the name is held
	Note    string `json:"note,omitempty"`    // any help: a ticket, a team, a link to a log
}

// MaxDetail is the longest field of [Details], in bytes.
const MaxDetail = details.MaxField // 256

// ProcessDetails returns host, pid, user and program of this process, as far as they
// are known. Command and Note are empty.
func ProcessDetails() *Details {
	d := Details(details.OfThisProcess())
	return &d
}

// String returns a text like "alice, pid 4121 on web-3", as far as it is known.
func (d *Details) String() string {
	if d == nil {
		return ""
	}
	return details.Process(*d).String()
}
