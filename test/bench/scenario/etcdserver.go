package scenario

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/test/support/child"
)

// EtcdServer is one etcd process on loopback.
type EtcdServer struct {
	Addr    string
	Version string
	dir     string
	cmd     *exec.Cmd
	ended   <-chan struct{}
}

// StartEtcd starts the etcd that is in PATH. Without one it returns nil: the
// rows of etcd are absent then, and the talk says so.
func StartEtcd(dir string) (*EtcdServer, error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it need not be there
	}
	if memory, err := os.MkdirTemp("/dev/shm", "holdfast-bench"); err == nil {
		dir = memory
	}
	const tries = 5 // a free port may be taken before etcd listens
	for range tries {
		var e *EtcdServer
		if e, err = startEtcdOnce(path, dir); err == nil {
			return e, nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

func startEtcdOnce(path, dir string) (*EtcdServer, error) {
	client, err1 := freeAddr()
	peer, err2 := freeAddr()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	e := &EtcdServer{Addr: client, dir: dir}
	data := filepath.Join(dir, "etcd-"+strings.ReplaceAll(client, ":", "-"))
	e.cmd = exec.Command(path, "--name", "bench", "--data-dir", data, "--log-level", "error",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer,
		"--initial-cluster", "bench=http://"+peer)
	var err error
	if e.ended, err = child.StartServer(e.cmd, syscall.SIGKILL); err != nil {
		return nil, err
	}
	if err := e.await(); err != nil {
		e.kill()
		return nil, fmt.Errorf("etcd on %s: %w", client, err)
	}
	return e, nil
}

// await asks until the server answers.
func (e *EtcdServer) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Addr}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		attempt, done := context.WithTimeout(ctx, time.Second)
		status, err := client.Status(attempt, e.Addr)
		done()
		if err == nil {
			e.Version = status.Version
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (e *EtcdServer) kill() {
	_ = e.cmd.Process.Kill() // it may have ended
	<-e.ended
}

// Close ends the server and removes its data. nil is fine.
func (e *EtcdServer) Close() {
	if e != nil {
		e.kill()
		_ = os.RemoveAll(e.dir)
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
