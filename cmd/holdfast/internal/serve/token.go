package serve

import (
	"fmt"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/spf13/cobra"
)

func serveTokenCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "token ROLE LABEL",
		Short: "Create a token for 'holdfast serve --tokens'",
		Long: `Create a random token for ROLE: viewer, user or admin. The token goes to stderr, and is
shown only now. The line for the token file goes to stdout. LABEL names its owner.

  viewer   reads names, holders, waiters and metrics
  user     also takes, renews and releases leases, and locks for Terraform
  admin    also revokes and steals leases of others

The file has one line per token: the role, the SHA-256 of the token, and the label.
Empty lines and lines that begin with # are ignored. The server reads the file again
when it has changed. To withdraw a token, delete its line.`,
		Example: `  holdfast serve token user 'ci of the shop' >> tokens
  holdfast serve --listen :7420 --tokens tokens`,
		Args: roleAndLabel,
		RunE: func(_ *cobra.Command, args []string) error {
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
		},
	}
}

func roleAndLabel(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return cli.Usagef("%s wants a ROLE and a LABEL, got %s; quote a label with spaces", cmd.CommandPath(), console.Several(len(args), "argument"))
	}
	return nil
}
