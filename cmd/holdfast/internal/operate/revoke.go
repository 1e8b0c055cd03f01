// Package operate has 'holdfast revoke', steal and resize, by which operators change locks.
package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
)

// revocationJSON is what -o json prints of a revocation. Its names are promised.
type revocationJSON struct {
	Name     string      `json:"name"`
	Tenure   string      `json:"tenure"`
	Done     bool        `json:"done"`
	Notified *int        `json:"notified"`
	Holder   *holderJSON `json:"holder"`
}

type holderJSON struct {
	Owner   string `json:"owner"`
	Hash    string `json:"hash"`
	Foreign bool   `json:"foreign"`
}

// RevokeCommand is 'holdfast revoke'.
func RevokeCommand(a *cli.App) *cobra.Command {
	return command(a, "revoke", "Ask the holder of a lock to stop", func(ctx context.Context, client *connect.Session, name string, o Options) (*int, error) {
		notified, err := client.Admin.Revoke(ctx, name, o.Tenure, o.Signed(a.Owner))
		return &notified, err
	})
}

// StealCommand is 'holdfast steal'.
func StealCommand(a *cli.App) *cobra.Command {
	return command(a, "steal", "Take a lock from its holder at once", func(ctx context.Context, client *connect.Session, name string, o Options) (*int, error) {
		return nil, client.Admin.Steal(ctx, name, o.Tenure, o.Signed(a.Owner))
	})
}

// call revokes or steals a lease. notified is the number of subscribers that got the message;
// nil: none is sent.
type call func(ctx context.Context, client *connect.Session, name string, o Options) (notified *int, err error)

func command(a *cli.App, verb, short string, give call) *cobra.Command {
	var o Options
	cmd := a.Command(verb+" NAME [--tenure HASH] [--reason TEXT]", short, cli.OneName, func(ctx context.Context, args []string) error {
		return revoke(ctx, a, o, args[0], give)
	})
	cmd.Flags().StringVar(&o.Tenure, "tenure", "", "`HASH` of the holder, from 'holdfast show'")
	cmd.Flags().StringVar(&o.Reason, "reason", "", "`TEXT` for the holder: why, at most 200 bytes; the owner or user@host is added if it fits")
	a.OutputFlag(cmd)
	return cmd
}

// revoke revokes or steals a lease and says what came of it.
func revoke(ctx context.Context, a *cli.App, o Options, name string, give call) error {
	asks := asks(a)
	meant := IsHash(o.Tenure) || o.Tenure == "" && asks
	noReason := strings.TrimSpace(o.Reason) == "" && !asks
	const wantsReason = "--reason wants a text, for the holder that loses the lock"
	if meant && noReason {
		return cli.Usagef(wantsReason)
	}
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	if !meant {
		listHolders(ctx, a, client, name)
		wrong := "--tenure wants the hash of the holder, 10 hex digits; 'holdfast show' prints it"
		if noReason {
			wrong += "; " + wantsReason
		}
		return cli.Usagef("%s", wrong)
	}
	if o.Tenure == "" || strings.TrimSpace(o.Reason) == "" {
		if err := ask(ctx, a, client, name, &o); err != nil {
			return err
		}
	}
	notified, err := give(ctx, client, name, o)
	out := revocationJSON{Name: name, Tenure: o.Tenure, Done: err == nil}
	var other *holdfast.TenureError
	switch {
	case errors.As(err, &other):
		if !other.Free && !other.Cooldown { // in cool-down Owner had the last hold
			out.Holder = &holderJSON{other.Owner, other.Hash, other.Foreign}
		}
	case err != nil:
		return err
	default:
		out.Notified = notified
	}
	if bad := a.PrintJSON(out); bad != nil {
		return bad
	}
	switch {
	case err != nil:
		return err
	case notified == nil:
		a.Say("took %s from tenure %s: the first waiter has it, or it is free; the old holder may run until its deadline", view.Text(name), o.Tenure)
	default:
		a.Say("%s", Asked(name, *notified))
	}
	return nil
}

// Asked describes the result of a revocation.
func Asked(name string, notified int) string {
	if notified > 0 {
		return fmt.Sprintf("asked the holder of %s to stop", view.Text(name))
	}
	return fmt.Sprintf("the holder of %s could not be notified at once; it learns of the revocation at its next "+
		"renewal, within a third of its ttl; if its process is dead, wait for the ttl, or steal", view.Text(name))
}

// Options are the flags of `holdfast revoke` and `holdfast steal`.
type Options struct{ Tenure, Reason string }

// Signed is the reason with the name of its author, if there is room: the library stores
// only the reason.
func (o Options) Signed(owner string) string {
	if owner == "" {
		if who, err := user.Current(); err == nil {
			owner = who.Username
		}
		if host, err := os.Hostname(); err == nil {
			owner += "@" + host
		}
	}
	text := strings.TrimSpace(o.Reason) + " (by " + owner + ")"
	if len(text) > maxReason {
		return o.Reason
	}
	return text
}

// maxReason is what the library cuts reasons to, in bytes.
const maxReason = 200

// IsHash reports whether text can be the hash of a tenure.
func IsHash(text string) bool {
	return len(text) == 10 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
