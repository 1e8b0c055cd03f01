package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/spf13/cobra"
)

// orderOptions are the flags of `holdfast revoke` and `holdfast steal`.
type orderOptions struct{ tenure, reason string }

// signed is the reason with who gives it behind it, where there is room: the library
// knows only the reason.
func (o orderOptions) signed(owner string) string {
	if owner == "" {
		if who, err := user.Current(); err == nil {
			owner = who.Username
		}
		if host, err := os.Hostname(); err == nil {
			owner += "@" + host
		}
	}
	text := strings.TrimSpace(o.reason) + " (by " + owner + ")"
	if len(text) > maxReason {
		return o.reason
	}
	return text
}

// maxReason is what the library cuts reasons to, in bytes.
const maxReason = 200

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

const orderJSONHelp = `-o json prints an object:

  name    the name
  tenure  the hash that was given
  done    false: that tenure does not hold the name any more (exit code 75)
  notified
          revoke: how many processes were notified at once; steal: null
  holder  where done is false, who holds the name: null (nobody), or owner,
          hash and foreign as in 'holdfast show'`

const orderCodesHelp = `Exit codes:
    0  done
   64  the command line is wrong, or the URL does not fit the server
   69  Redis does not answer: whether it was done is not known; say it again
   70  something else went wrong
   75  that tenure does not hold NAME any more; nothing was done
       (also where you were asked which one, and named none)
   77  Redis refused: password, user or rights`

func (a *app) revokeCommand() *cobra.Command {
	var o orderOptions
	cmd := &cobra.Command{
		Use:   "revoke NAME [--tenure HASH] [--reason TEXT]",
		Short: "Ask the holder of a name to stop",
		Long: `Ask the holder of a name to stop what it does and give the name back. Its lease
ends with the reason; 'holdfast run' stops its command and exits with 122. Nobody
else gets the name before the holder has released it, or has had its whole ttl to
do so. A holder that is frozen, or does not heed its lease, keeps it that long.

HASH is the holder's as 'holdfast show' prints it: if another holds the name by
then, that one is left alone. At a terminal HASH and TEXT may be left out: the
holders are shown, and you are asked which one, and why. Callers that wait for the name go on waiting, in the
holder's process too: to keep one away from a name, stop it.

A holder that can't be told at once learns of it by its next renewal, within a
third of its ttl; that is said. Of a name that several hold (--shared, --of) HASH is
one of them, and the others are not concerned.

` + orderCodesHelp + "\n\n" + orderJSONHelp,
		Example: `  holdfast show nightly -o json | jq -r .holder.hash
  holdfast revoke nightly --tenure 5f0c3a91be --reason 'db-3 is being drained'`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.order(cmd.Context(), o, args[0], func(ctx context.Context, client *holdfast.Client, o orderOptions) (*int, error) {
				notified, err := client.Revoke(ctx, args[0], o.tenure, o.signed(a.owner))
				return &notified, err
			})
		},
	}
	a.orderFlags(cmd, &o)
	return cmd
}

func (a *app) stealCommand() *cobra.Command {
	var o orderOptions
	cmd := &cobra.Command{
		Use:   "steal NAME [--tenure HASH] [--reason TEXT]",
		Short: "Take a name from its holder at once",
		Long: `Take a name from its holder at once: the next in line gets it, or it is free. The
holder's lease ends with the reason when it hears of that: at once as a rule, else
by its next renewal, at the latest by its deadline. UNTIL THEN TWO BELIEVE THAT
THEY HOLD THE NAME, and nothing stops the first but itself and a resource that
checks the token. So be sure that it is dead or stuck; 'holdfast revoke' asks it
to stop, and is safe.

To run a command under the name yourself, in front of all who wait, see --steal of
'holdfast run'.

HASH is the holder's as 'holdfast show' prints it: if another holds the name by
then, that one is left alone. At a terminal HASH and TEXT may be left out: the
holders are shown, and you are asked which one, and why. Of a name that several
hold (--shared, --of) one part is taken, and the others are not concerned.

` + orderCodesHelp + "\n\n" + orderJSONHelp,
		Example: `  holdfast show nightly -o json | jq -r .holder.hash
  holdfast steal nightly --tenure 5f0c3a91be --reason 'ci-7 lost its network'`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.order(cmd.Context(), o, args[0], func(ctx context.Context, client *holdfast.Client, o orderOptions) (*int, error) {
				return nil, client.Steal(ctx, args[0], o.tenure, o.signed(a.owner))
			})
		},
	}
	a.orderFlags(cmd, &o)
	return cmd
}

func (a *app) orderFlags(cmd *cobra.Command, o *orderOptions) {
	cmd.Flags().StringVar(&o.tenure, "tenure", "", "the holder's `HASH`, as 'holdfast show' prints it")
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, for people: the holder reads this `TEXT`, at most 200 bytes,\nand who you are (--owner, else user@host) if that fits in")
	a.outputFlag(cmd)
}

// isHash tells what may name a tenure.
func isHash(text string) bool {
	return len(text) == 10 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// order gives an order and says what came of it.
func (a *app) order(ctx context.Context, o orderOptions, name string, give func(context.Context, *holdfast.Client, orderOptions) (notified *int, err error)) error {
	var wrong []string
	asks := a.asks()
	if !isHash(o.tenure) && (o.tenure != "" || !asks) {
		wrong = append(wrong, "--tenure wants the hash of the holder: ten digits or letters from a to f, as 'holdfast show' prints it")
	}
	if strings.TrimSpace(o.reason) == "" && !asks {
		wrong = append(wrong, "--reason wants to be said: the holder that loses the name reads it")
	}
	if len(wrong) > 0 {
		return usagef("%s", strings.Join(wrong, "; "))
	}
	client, closeClient, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer closeClient()
	if o.tenure == "" || strings.TrimSpace(o.reason) == "" {
		if err := a.ask(ctx, client, name, &o); err != nil {
			return err
		}
	}
	notified, err := give(ctx, client, o)
	out := orderJSON{Name: name, Tenure: o.tenure, Done: err == nil}
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
	if a.output == "json" {
		if bad := printJSON(a.stdout, out); bad != nil {
			return bad
		}
	}
	switch {
	case err != nil:
		return err
	case notified == nil:
		a.say("%s was taken from tenure %s", visible(name), o.tenure)
	case *notified == 0:
		a.say("the holder of %s was not reached: it learns of the revoke at its next renewal, "+
			"within a third of its ttl if it renews by itself", visible(name))
	default:
		a.say("the holder of %s was told to stop", visible(name))
	}
	return nil
}
