// Package dev is 'holdfast dev': a server inside this process, for tests.
package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/spf13/cobra"
)

// defaultDevAddress is not Redis's own port: a real server must not be mistaken
// for this one, nor the other way round.
const defaultDevAddress = "127.0.0.1:6399"

// Command is 'holdfast dev'.
func Command(a *cli.App) *cobra.Command {
	var address string
	cmd := a.Command("dev", "Start a throw-away server for tests", cli.NoArgs, func(ctx context.Context, _ []string) error {
		return dev(ctx, a, address)
	})
	cmd.Flags().StringVar(&address, "addr", defaultDevAddress, "loopback `ADDRESS` to listen on; port 0 is any free one")
	return cmd
}

func dev(ctx context.Context, a *cli.App, address string) error {
	if err := checkDevAddress(address); err != nil {
		return err
	}
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	server, err := StartEmbedded(address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("%s is in use; --addr 127.0.0.1:0 uses any free port", address))
	}
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := fmt.Fprintln(a.Stdout, server.URL()); err != nil {
		return err
	}
	a.Say("test server, ends with ctrl-C; in two other terminals run:")
	a.Say("  export HOLDFAST_REDIS_URL=%s", server.URL())
	a.Say("  holdfast run nightly -- sleep 10")
	<-ctx.Done()
	return nil
}

// checkDevAddress refuses what others can reach: the server has no password.
func checkDevAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return cli.Usagef("--addr %s: want host:port such as %s", address, defaultDevAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usagef("--addr %s: other machines can reach it, and this server has no password; want a loopback address such as %s", address, net.JoinHostPort("127.0.0.1", port))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return cli.Usagef("--addr %s: want a port from 0 to 65535", address)
	}
	return nil
}

// StartEmbedded starts a server inside this process.
func StartEmbedded(address string) (*embedded.Store, error) {
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
