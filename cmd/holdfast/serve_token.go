package main

import (
	"fmt"

	"github.com/holdfast-go/holdfast/server"
	"github.com/spf13/cobra"
)

func (a *app) serveTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token ROLE LABEL",
		Short: "Make a token for 'holdfast serve --tokens'",
		Long: `Make a random token for ROLE: viewer, user or admin. The token goes to stderr, for
whoever is to have it, and nowhere else; the line that stands for it goes to
stdout, for the file. LABEL is whose it is, for people.

The file has a line for each token: the role, the SHA-256 of the token, and the
label. Empty lines and lines that begin with # count for nothing. It is read
again when it has changed; a line that is taken out is a token that is no more.

  viewer   sees names, holders, waiters and metrics
  user     also takes, renews and releases leases, and locks for Terraform
  admin    also revokes and steals leases of others`,
		Example: `  holdfast serve token user 'ci of the shop' >> tokens
  holdfast serve --listen :7420 --tokens tokens`,
		Args: roleAndLabel,
		RunE: func(_ *cobra.Command, args []string) error {
			var role server.Role
			for _, r := range []server.Role{server.Viewer, server.User, server.Admin} {
				if r.String() == args[0] {
					role = r
				}
			}
			if role == server.Anybody {
				return usagef("there is no role %q: want viewer, user or admin", args[0])
			}
			secret, line, err := server.NewToken(role, args[1])
			if err != nil {
				return usagef("%v", err)
			}
			if _, err := fmt.Fprintln(a.stdout, line); err != nil {
				return err
			}
			a.complain("the token, which is shown only now: " + secret)
			return nil
		},
	}
}

func roleAndLabel(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usagef("%s wants a ROLE and a LABEL, and was given %s: quote a label that has spaces", cmd.CommandPath(), several(len(args), "argument"))
	}
	return nil
}
