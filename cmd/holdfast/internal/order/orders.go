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

const orderJSONHelp = `JSON OUTPUT
-o json prints an object:

  name    the name
  tenure  the hash that was given
  done    false: nothing was changed (exit code 75)
  notified
          revoke: number of processes that were notified at once; steal: null
  holder  if done is false: null (the name is free), or owner, hash and foreign of
          the holder, as in 'holdfast show'`

const orderCodesHelp = `EXIT CODES
    0  done
   64  the command line is wrong, or the URL does not fit the server
   69  Redis is unreachable: unknown whether it was done; repeat it
   70  another error
   75  that tenure does not hold NAME any more, a client of another library holds
       it, or no holder was selected; nothing was changed
   77  Redis refused: password, user or rights`

// RevokeCommand is 'holdfast revoke'.
func RevokeCommand(a *cli.App) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "revoke NAME [--tenure HASH] [--reason TEXT]",
		Short: "Ask the holder of a lock to stop",
		Long: `Ask the holder of the lock NAME to stop and to release it. Another process gets the
lock after the release, or after the holder's ttl at the latest.

The holder's lease ends, and the holder can read the reason. 'holdfast run' stops its
command and exits with 122. A holder that is frozen, or that ignores its lease, keeps the lock until
its ttl ends.

SELECTING THE HOLDER
HASH identifies the tenure of the holder. 'holdfast show' prints it. If another process
holds the lock meanwhile, nothing is changed. On a terminal you may leave out HASH and
TEXT: the command lists the holders by number, and asks for the number and a reason. If
several processes hold the lock (--shared, --of), only the holder with this HASH is
asked to stop.

Waiters keep waiting, also those in the process of the holder. So that process can get
the lock again. To prevent that, stop the process.

If a holder cannot be notified at once, it learns of the revocation at its next renewal,
within a third of its ttl. The command says so. A client of another library cannot be
revoked: wait, or delete the key in Redis if that client is dead.

` + orderJSONHelp + "\n\n" + orderCodesHelp,
		Example: `  holdfast show nightly -o json | jq -r .holder.hash
  holdfast revoke nightly --tenure 5f0c3a91be --reason 'db-3 is being drained'`,
		Args: cli.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return order(cmd.Context(), a, o, args[0], func(ctx context.Context, client *connect.Session, o Options) (*int, error) {
				notified, err := client.Revoke(ctx, args[0], o.Tenure, o.Signed(a.Owner))
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
		Long: `Take the lock NAME from its holder at once. The first waiter gets it, or it is free.
THE OLD HOLDER MAY STILL RUN: first check that it is dead or stuck.

The old lease ends when its process is notified: usually at once, otherwise at the next
renewal or at its deadline. UNTIL THEN TWO PROCESSES ACT AS HOLDER. Only a resource that
checks the fencing token refuses the writes of the old one. 'holdfast revoke' is the
safe alternative: it asks the holder to stop.

To run a command under the lock yourself, before all waiters, use 'holdfast run
--steal'.

SELECTING THE HOLDER
HASH names the tenure. 'holdfast show' prints it. If another process holds the lock by
then, nothing is changed. On a terminal you may leave out HASH and TEXT: the command
lists the holders by number, and asks for the number and a reason. If several hold the lock (--shared, --of), only
the lease with this HASH is taken. A lock cannot be stolen from a client of another
library: delete the key in Redis if that client is dead.

` + orderJSONHelp + "\n\n" + orderCodesHelp,
		Example: `  holdfast show nightly -o json | jq -r .holder.hash
  holdfast steal nightly --tenure 5f0c3a91be --reason 'ci-7 lost its network'`,
		Args: cli.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return order(cmd.Context(), a, o, args[0], func(ctx context.Context, client *connect.Session, o Options) (*int, error) {
				return nil, client.Steal(ctx, args[0], o.Tenure, o.Signed(a.Owner))
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
		if h := other.Holder; h != nil && !h.Cooldown { // in cool-down Owner had the last hold
			out.Holder = &orderHolder{h.Owner, h.Hash, h.Foreign}
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
