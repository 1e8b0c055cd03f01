// Package order is 'holdfast revoke', steal and resize: what operators change.
package order

import (
	"context"
	"errors"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// orderJSON is what -o json prints of an order. Its names are promised.
type orderJSON struct {
	Name     string       `json:"name"`
	Tenure   string       `json:"tenure"`
	Done     bool         `json:"done"`
	Notified *int         `json:"notified"`
	Holder   *orderHolder `json:"holder"`
}

type orderHolder struct {
	Owner   string `json:"owner"`
	Hash    string `json:"hash"`
	Foreign bool   `json:"foreign"`
}

// RevokeCommand is 'holdfast revoke'.
func RevokeCommand(a *cli.App) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "revoke NAME [--tenure HASH] [--reason TEXT]",
		Short: "Ask the holder of a lock to stop",
		Args:  cli.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return order(cmd.Context(), a, o, args[0], func(ctx context.Context, client *connect.Session, o Options) (*int, error) {
				notified, err := client.Admin.Revoke(ctx, args[0], o.Tenure, o.Signed(a.Owner))
				return &notified, err
			})
		},
	}
	orderFlags(a, cmd, &o)
	return cmd
}

// StealCommand is 'holdfast steal'.
func StealCommand(a *cli.App) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "steal NAME [--tenure HASH] [--reason TEXT]",
		Short: "Take a lock from its holder at once",
		Args:  cli.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return order(cmd.Context(), a, o, args[0], func(ctx context.Context, client *connect.Session, o Options) (*int, error) {
				return nil, client.Admin.Steal(ctx, args[0], o.Tenure, o.Signed(a.Owner))
			})
		},
	}
	orderFlags(a, cmd, &o)
	return cmd
}

func orderFlags(a *cli.App, cmd *cobra.Command, o *Options) {
	cmd.Flags().StringVar(&o.Tenure, "tenure", "", "`HASH` of the holder, from 'holdfast show'")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`TEXT` for the holder: why, at most 200 bytes; the owner or user@host is added if it fits")
	a.OutputFlag(cmd)
}

// order gives an order and says what came of it.
func order(ctx context.Context, a *cli.App, o Options, name string, give func(context.Context, *connect.Session, Options) (notified *int, err error)) error {
	var wrong []string
	asks := asks(a)
	if !IsHash(o.Tenure) && (o.Tenure != "" || !asks) {
		wrong = append(wrong, "--tenure wants the hash of the holder, 10 hex digits; 'holdfast show' prints it")
	}
	if strings.TrimSpace(o.Reason) == "" && !asks {
		wrong = append(wrong, "--reason wants a text, for the holder that loses the lock")
	}
	if len(wrong) > 0 {
		return cli.Usagef("%s", strings.Join(wrong, "; "))
	}
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	if o.Tenure == "" || strings.TrimSpace(o.Reason) == "" {
		if err := ask(ctx, a, client, name, &o); err != nil {
			return err
		}
	}
	notified, err := give(ctx, client, o)
	out := orderJSON{Name: name, Tenure: o.Tenure, Done: err == nil}
	var other *holdfast.TenureError
	switch {
	case errors.As(err, &other):
		if !other.Free && !other.Cooldown { // in cool-down Owner had the last hold
			out.Holder = &orderHolder{other.Owner, other.Hash, other.Foreign}
		}
	case err != nil:
		return err
	default:
		out.Notified = notified
	}
	if a.Output == "json" {
		if bad := console.PrintJSON(a.Stdout, out); bad != nil {
			return bad
		}
	}
	switch {
	case err != nil:
		return err
	case notified == nil:
		a.Say("took %s from tenure %s: the first waiter has it, or it is free; the old holder may run until its deadline", view.Text(name), o.Tenure)
	case *notified == 0:
		a.Say("the holder of %s could not be notified at once; it learns of the revocation at its next "+
			"renewal, within a third of its ttl; if its process is dead, wait for the ttl, or steal", view.Text(name))
	default:
		a.Say("asked the holder of %s to stop", view.Text(name))
	}
	return nil
}
