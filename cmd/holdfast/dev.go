package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/holdfast-go/holdfast/embedded"
	"github.com/spf13/cobra"
)

// defaultDevAddress is not Redis's own port: a real server must not be mistaken
// for this one, nor the other way round.
const defaultDevAddress = "127.0.0.1:6399"

func (a *app) devCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start a throw-away server for tests",
		Long: `Start a Redis-compatible server for first steps and tests, until ctrl-C. The URL is
printed on stdout.

It keeps all data in memory, has no password, and listens on this machine only. Do not
use it in production.`,
		Example: `  holdfast dev
  holdfast dev --addr 127.0.0.1:0      use any free port`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.dev(cmd.Context(), address)
		},
	}
	cmd.Flags().StringVar(&address, "addr", defaultDevAddress, "loopback `ADDRESS` to listen on; port 0 is any free one")
	return cmd
}

func (a *app) dev(ctx context.Context, address string) error {
	if err := checkDevAddress(address); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := startEmbedded(address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return exitWith(exitUnreachable, fmt.Errorf("%s is in use; --addr 127.0.0.1:0 uses any free port", address))
	}
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := fmt.Fprintln(a.stdout, server.URL()); err != nil {
		return err
	}
	a.say("test server, ends with ctrl-C; in two other terminals run:")
	a.say("  export HOLDFAST_REDIS_URL=%s", server.URL())
	a.say("  holdfast run nightly -- sleep 10")
	<-ctx.Done()
	return nil
}

// checkDevAddress refuses what others can reach: the server has no password.
func checkDevAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("--addr %s: want host:port such as %s", address, defaultDevAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--addr %s: other machines can reach it, and this server has no password; want a loopback address such as %s", address, net.JoinHostPort("127.0.0.1", port))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("--addr %s: want a port from 0 to 65535", address)
	}
	return nil
}

// startEmbedded starts a server inside this process.
func startEmbedded(address string) (*embedded.Store, error) {
	server, err := embedded.Open(nil)
	if err != nil {
		return nil, err
	}
	if _, err := server.Listen(address); err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}
