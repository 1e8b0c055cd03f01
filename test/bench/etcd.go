package bench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/test/support/child"
)

// etcdServer is one etcd process on loopback; without an address there is none.
type etcdServer struct {
	addr, version, dir string
	cmd                *exec.Cmd
	ended              <-chan struct{}
}

// startEtcd starts the etcd that is in PATH, with its data in memory where that can be.
func startEtcd(dir string) (*etcdServer, error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return &etcdServer{}, nil //nolint:nilerr // it need not be there
	}
	version, err1 := exec.Command(path, "--version").Output()
	client, err2 := freeAddr()
	peer, err3 := freeAddr()
	if memory, err := os.MkdirTemp("/dev/shm", "holdfast-bench"); err == nil {
		dir = memory
	}
	e := &etcdServer{addr: client, dir: dir, cmd: exec.Command(path, "--name", "bench", "--data-dir", dir+"/etcd", "--log-level", "error",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "bench=http://"+peer)}
	e.version, _, _ = strings.Cut(string(version), "\n")
	var err4 error
	e.ended, err4 = child.StartServer(e.cmd, syscall.SIGKILL)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", client); err == nil {
			return e, conn.Close()
		}
	}
	e.Close()
	return nil, fmt.Errorf("etcd does not listen on %s after 20 s", client)
}

// Close ends the server and removes its data.
func (e *etcdServer) Close() {
	if e.addr != "" {
		_ = e.cmd.Process.Kill() // it may have ended
		<-e.ended
		_ = os.RemoveAll(e.dir)
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
