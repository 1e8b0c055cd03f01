package holdfast

import "fmt"

// errQuorumCannot is what a Client of a quorum says, before anything is sent, to
// what only one master can do.
func errQuorumCannot(what, instead string) error {
	return fmt.Errorf("holdfast: %s on one master, and this Client is one of a quorum: %s", what, instead)
}
