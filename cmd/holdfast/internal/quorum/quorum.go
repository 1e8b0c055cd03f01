// Package quorum is 'holdfast quorum': it creates, inspects and changes a quorum.
package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/spf13/cobra"
)

// Command is 'holdfast quorum'.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quorum COMMAND",
		Short: "Create, inspect and change a quorum of masters",
		Args:  cli.NoSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(quorumInitCommand(a), quorumStatusCommand(a), quorumReplaceCommand(a))
	for _, sub := range cmd.Commands() {
		a.Begin(sub)
	}
	return cmd
}

func quorumInitCommand(a *cli.App) *cobra.Command {
	var atOnce bool
	cmd := &cobra.Command{
		Use:   "init NAME URL URL URL...",
		Short: "Create a quorum of masters that are in none",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 4 {
				return cli.Usagef("%s wants a NAME and three or more URLs", cmd.CommandPath())
			}
			if !quorumName.MatchString(args[0]) {
				return cli.Usagef("quorum name %q: want at most 64 letters, digits, - and _", args[0])
			}
			return checkURLs(args[1:])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			members, closeAll, err := members(cmd.Context(), a, args[1:], nil)
			if err != nil {
				return err
			}
			defer closeAll()
			id, err := quorum.Init(cmd.Context(), args[0], atOnce, members...)
			if err != nil {
				return err
			}
			return printQuorum(cmd.Context(), a, id, members, atOnce)
		},
	}
	cmd.Flags().BoolVar(&atOnce, "at-once", false, "let the nodes vote at once: they never had a lock")
	a.OutputFlag(cmd)
	return cmd
}

func quorumReplaceCommand(a *cli.App) *cobra.Command {
	var from, gone []string
	cmd := &cobra.Command{
		Use:   "replace --from URL... URL...",
		Short: "Change the members of a quorum",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 || len(from) < 3 {
				return cli.Usagef("%s wants three or more URLs with --from, and three or more as arguments", cmd.CommandPath())
			}
			for _, url := range gone {
				if !slices.ContainsFunc(from, func(f string) bool { return cli.PublicURL(f) == cli.PublicURL(url) }) {
					return cli.Usagef("--gone %s: it must be one of --from", cli.PublicURL(url))
				}
			}
			return cmp.Or(checkURLs(from), checkURLs(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			old, closeOld, err := members(ctx, a, from, func(string) bool { return true })
			if err != nil {
				return err
			}
			defer closeOld()
			members, closeAll, err := members(ctx, a, args, nil)
			if err != nil {
				return err
			}
			defer closeAll()
			for i, url := range gone {
				gone[i] = cli.PublicURL(url)
			}
			id, err := quorum.Replace(ctx, old, members, gone...)
			if err != nil {
				return err
			}
			return printQuorum(ctx, a, id, members, false)
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, "`URL` of a current member; repeat for each")
	cmd.Flags().StringArrayVar(&gone, "gone", nil, "`URL` of --from that never comes back")
	a.OutputFlag(cmd)
	return cmd
}

// quorumName is what can name a quorum, as quorum.Init has it.
var quorumName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkURLs returns an error if the number of servers is even, or one is given twice.
func checkURLs(urls []string) error {
	if len(urls)%2 == 0 {
		return cli.Usagef("%d members: a quorum has an odd number, 3 or more (an even one tolerates no more failures than one fewer)", len(urls))
	}
	for i, url := range urls {
		twice := func(u string) bool { return cli.PublicURL(u) == cli.PublicURL(url) }
		if strings.Contains(url, "://") && slices.ContainsFunc(urls[:i], twice) {
			return cli.Usagef("%s is given twice", cli.PublicURL(url))
		}
	}
	return nil
}

// members opens the servers side by side. may reports for which URL a server that does
// not answer is no error: it is reported, and has no store. nil: for none.
func members(ctx context.Context, a *cli.App, urls []string, may func(url string) bool) ([]quorum.Member, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	members := make([]quorum.Member, len(urls))
	errs := make([]error, len(urls))
	ends := make([]func() error, len(urls))
	done := make(chan struct{})
	for i, url := range urls {
		members[i].Address = cli.PublicURL(url)
		go func() {
			defer func() { done <- struct{}{} }()
			store, err := connect.OpenStore(ctx, url)
			var coded *cli.ExitError
			if errors.As(err, &coded) {
				err = cli.Exit(coded.Code, errors.New(strings.TrimSuffix(coded.Error(), connect.OtherServer)))
			}
			if errs[i] = err; err == nil {
				members[i].Store, ends[i] = store, store.Close
			}
		}()
	}
	for range urls {
		<-done
	}
	closeAll := func() {
		for _, end := range ends {
			if end != nil {
				_ = end()
			}
		}
	}
	for i, err := range errs {
		var coded *cli.ExitError
		switch {
		case err == nil:
		case may != nil && may(urls[i]) && errors.As(err, &coded) && coded.Code == cli.ExitUnreachable:
			a.Detail("%v", err)
		default:
			closeAll()
			return nil, nil, err
		}
	}
	return members, closeAll, nil
}

type quorumJSON struct {
	Quorum    string   `json:"quorum"`
	Members   []string `json:"members"`
	VotesInMS int64    `json:"votes_in_ms"`
}

// allVoteIn asks the nodes, which may have been given the quorum earlier and otherwise, in
// what time all of them vote.
func allVoteIn(ctx context.Context, members []quorum.Member) (wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, n := range quorum.Inspect(ctx, members...) {
		if n.Err != nil {
			return holdfast.MaxQuorumTTL // at most, from its next answer on
		}
		wait = max(wait, n.VotesIn)
	}
	return wait
}

// printQuorum prints the id for programs, and says the rest.
func printQuorum(ctx context.Context, a *cli.App, id string, members []quorum.Member, atOnce bool) error {
	wait := allVoteIn(ctx, members)
	out := quorumJSON{Quorum: id, VotesInMS: wait.Milliseconds()}
	for _, m := range members {
		out.Members = append(out.Members, m.Address)
	}
	if a.Output == "json" {
		return console.PrintJSON(a.Stdout, out)
	}
	when := "all nodes vote from now on"
	if wait > 0 {
		when = "all nodes vote in " + console.Age(wait)
	}
	if wait > 0 && atOnce {
		when += ", because --at-once changes nothing at a node that had the quorum already"
	}
	a.Say("the line on stdout is for holdfast.NewQuorum; %s: %s", when, strings.Join(out.Members, ", "))
	_, err := fmt.Fprintln(a.Stdout, id)
	return err
}
