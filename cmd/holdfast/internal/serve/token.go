package serve

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/spf13/cobra"
)

func serveTokenCommand(a *cli.App) *cobra.Command {
	return a.Command("token ROLE LABEL", "Create a token for 'holdfast serve --tokens'", roleAndLabel, func(_ context.Context, args []string) error {
		var role auth.Role
		for _, r := range []auth.Role{auth.Viewer, auth.User, auth.Admin} {
			if r.String() == args[0] {
				role = r
			}
		}
		if role == auth.Anonymous {
			return cli.Usagef("unknown role %q; want viewer, user or admin", args[0])
		}
		secret, line, err := auth.NewToken(role, args[1])
		if err != nil {
			return cli.Usagef("%v", err)
		}
		if _, err := fmt.Fprintln(a.Stdout, line); err != nil {
			return err
		}
		a.Complain("token (shown only now): " + secret)
		return nil
	})
}

func roleAndLabel(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return cli.Usagef("%s wants a ROLE and a LABEL, got %s; quote a label with spaces", cmd.CommandPath(), console.Several(len(args), "argument"))
	}
	return nil
}
