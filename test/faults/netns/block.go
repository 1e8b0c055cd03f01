//go:build linux

package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// blocks is how many there are in 198.18.0.0/15, which is set aside for tests of
// networks (RFC 2544) and nobody's on the internet.
const blocks = 512

// block is 256 addresses that are no one else's on this machine.
type block struct {
	number int
	lock   net.Listener // whoever listens there has the block; it ends with the process
}

// choose finds one that no other process has and no route of this machine leads
// to.
func choose() (block, error) {
	taken, err := routes()
	if err != nil {
		return block{}, err
	}
	for i := range blocks {
		b := block{number: (os.Getpid() + i) % blocks}
		if slices.ContainsFunc(taken, b.prefix().Overlaps) {
			continue
		}
		b.lock, err = net.Listen("unix", fmt.Sprintf("@holdfast-verify-%v", b.prefix()))
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		return b, err
	}
	return block{}, errors.New("198.18.0.0/15 is in use on this machine")
}

func (b block) free() { _ = b.lock.Close() } // nobody has to hear of it

// addr is the one of that last byte.
func (b block) addr(last int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, byte(18 + b.number/256), byte(b.number % 256), byte(last)})
}

func (b block) prefix() netip.Prefix { return netip.PrefixFrom(b.addr(0), 24) }

// device is the name of this machine's end; see clean.
func (b block) device() string { return fmt.Sprintf("hfv%dn%d", os.Getpid(), b.number) }

// routes are the destinations of this machine's routes but for the default.
func routes() (all []netip.Prefix, err error) {
	text, err := exec.Command("ip", "-4", "-json", "route", "show", "table", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("ip route: %w", err)
	}
	var rows []struct {
		Dst string `json:"dst"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("ip route: %w", err)
	}
	for _, row := range rows {
		dst := row.Dst
		if !strings.Contains(dst, "/") {
			dst += "/32"
		}
		if prefix, err := netip.ParsePrefix(dst); err == nil && prefix.Bits() > 0 {
			all = append(all, prefix)
		}
	}
	return all, nil
}

// clean takes away what processes left that are dead.
func clean() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		var pid, number int
		if _, err := fmt.Sscanf(i.Name, "hfv%dn%d", &pid, &number); err != nil || !errors.Is(unix.Kill(pid, syscall.Signal(0)), unix.ESRCH) {
			continue
		}
		err := (*space)(nil).ip("link del " + i.Name)
		if _, still := net.InterfaceByName(i.Name); err != nil && still == nil { // else another was faster
			return err
		}
	}
	return nil
}
