package main

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
	"github.com/spf13/cobra"
)

func (a *app) quorumCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quorum",
		Short: "Set up a quorum of masters, look at it, change its members",
		Long: `Set up a quorum of masters, look at it, change its members.

A quorum is an odd number of masters, three or more, that share nothing: no
replication, and best no machine. A name is locked on a majority of them, so it
can be locked and stays locked while a minority is down (holdfast.NewQuorum; the
command run does not use one).

Each node bears a marker, the key holdfast/marker, that says which quorum it votes
in. It says, too, which run of the server that was: a node that was restarted may
have forgotten votes, and gives none for a minute. So restart one at a time, and
let the nodes have an append-only file: one that comes back without its data has
no marker and stays out until 'holdfast quorum replace' lets it join again. A
policy of eviction that takes keys without expiry (allkeys-...) may take the
marker.

A quorum-id, such as orders/1/3-5f3a9c0d1e, is name, epoch, size and a hash of the
members' addresses. Programs are given it in Options.Quorum. The addresses are
those that you name: name a node in the same way each time.`,
		Example: `  holdfast quorum init orders redis://a:6379 redis://b:6379 redis://c:6379
  holdfast quorum status redis://a:6379 redis://b:6379 redis://c:6379`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.quorumInitCommand(), a.quorumStatusCommand(), a.quorumReplaceCommand())
	for _, sub := range cmd.Commands() {
		a.begin(sub)
	}
	return cmd
}

func (a *app) quorumInitCommand() *cobra.Command {
	var atOnce bool
	cmd := &cobra.Command{
		Use:   "init NAME URL URL URL...",
		Short: "Make a quorum of masters that belong to none",
		Long: `Make a quorum of masters that belong to none, and print its quorum-id. All must
answer, and be servers of their own. If it fails half-way, repeat it with the same
URLs.

The nodes vote only after a minute: were they nodes before, and lost their data,
somebody may still believe in a lease. --at-once spares the minute where nobody
has ever locked on them. It changes nothing at a node that 'quorum init' has been to:
that votes when its minute is over.

-o json prints an object: quorum (the id), members (their addresses), votes_in_ms (in
what time all of them vote).`,
		Example: `  holdfast quorum init orders redis://a:6379 redis://b:6379 redis://c:6379`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 4 {
				return usagef("%s wants a NAME and three URLs or more", cmd.CommandPath())
			}
			if !quorumName.MatchString(args[0]) {
				return usagef("the name of a quorum is letters, digits, - and _, at most 64, not %q", args[0])
			}
			return checkURLs(args[1:])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			members, closeAll, err := a.members(cmd.Context(), args[1:], nil)
			if err != nil {
				return err
			}
			defer closeAll()
			id, err := holdfast.InitQuorum(cmd.Context(), args[0], atOnce, members...)
			if err != nil {
				return err
			}
			return a.printQuorum(cmd.Context(), id, members, atOnce)
		},
	}
	cmd.Flags().BoolVar(&atOnce, "at-once", false, "let them vote at once: nobody has ever locked on them")
	a.outputFlag(cmd)
	return cmd
}

func (a *app) quorumReplaceCommand() *cobra.Command {
	var from, gone []string
	cmd := &cobra.Command{
		Use:   "replace --from URL --from URL --from URL... URL URL URL...",
		Short: "Change the members of a quorum, or let one join again",
		Long: `Change the members of a quorum: --from names all members it has, also those that
are off, and the arguments all it is to have. It prints the new quorum-id, whose
epoch is one higher.

First the old members leave the old quorum, then the new ones are given the new
id. From the first moment programs with the old id win nothing more, and lose what
they hold at its deadline; a minute later those with the new id can lock. So old
and new lists, mixed, never give a name to two. Give the programs the new id and
URLs next.

If it fails half-way nobody can lock: repeat it, with the same URLs.

An old member that does not answer, and is not to stay, must be named by --gone:
that vouches for it that it is off and will never come back with its data. Who is
wrong there makes two quorums of one.

With the same members on both sides, a node that has lost its data joins again;
the id stays, and only that node sits out a minute.

-o json prints an object: quorum (the id), members (their addresses), votes_in_ms (in
what time all of them vote).`,
		Example: `  # c is replaced by d
  holdfast quorum replace --from redis://a:6379 --from redis://b:6379 \
      --from redis://c:6379 redis://a:6379 redis://b:6379 redis://d:6379

  # the same, where c has burnt down: with --gone redis://c:6379`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 || len(from) < 3 {
				return usagef("%s wants three URLs or more, each behind a --from, and three or more as arguments", cmd.CommandPath())
			}
			for _, url := range gone {
				if !slices.ContainsFunc(from, func(f string) bool { return publicURL(f) == publicURL(url) }) {
					return usagef("--gone %s: it must be one of --from", publicURL(url))
				}
			}
			return cmp.Or(checkURLs(from), checkURLs(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			old, closeOld, err := a.members(ctx, from, func(string) bool { return true })
			if err != nil {
				return err
			}
			defer closeOld()
			members, closeAll, err := a.members(ctx, args, nil)
			if err != nil {
				return err
			}
			defer closeAll()
			for i, url := range gone {
				gone[i] = publicURL(url)
			}
			id, err := holdfast.ReplaceQuorum(ctx, old, members, gone...)
			if err != nil {
				return err
			}
			return a.printQuorum(ctx, id, members, false)
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, "`URL` of a member that it has now, once for each")
	cmd.Flags().StringArrayVar(&gone, "gone", nil, "`URL` among --from of one that never comes back")
	a.outputFlag(cmd)
	return cmd
}

// quorumName is what can name a quorum, as holdfast.InitQuorum has it.
var quorumName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkURLs says why so many servers, or one of them twice, are no quorum.
func checkURLs(urls []string) error {
	if len(urls)%2 == 0 {
		return usagef("%d members: a quorum has an odd number, 3 or more (an even one tolerates no more failures than one fewer)", len(urls))
	}
	for i, url := range urls {
		twice := func(u string) bool { return publicURL(u) == publicURL(url) }
		if strings.Contains(url, "://") && slices.ContainsFunc(urls[:i], twice) {
			return usagef("%s is named twice", publicURL(url))
		}
	}
	return nil
}

// members opens the servers side by side. may says of which one that does not
// answer is let through, told to people and without a store; nil: of none.
func (a *app) members(ctx context.Context, urls []string, may func(url string) bool) ([]holdfast.QuorumMember, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	members := make([]holdfast.QuorumMember, len(urls))
	errs := make([]error, len(urls))
	ends := make([]func() error, len(urls))
	done := make(chan struct{})
	for i, url := range urls {
		members[i].Address = publicURL(url)
		go func() {
			defer func() { done <- struct{}{} }()
			store, err := openStore(ctx, url)
			var coded *exitError
			if errors.As(err, &coded) {
				err = &exitError{coded.code, errors.New(strings.TrimSuffix(coded.Error(), otherServer))}
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
		var coded *exitError
		switch {
		case err == nil:
		case may != nil && may(urls[i]) && errors.As(err, &coded) && coded.code == exitUnreachable:
			a.detail("%v", err)
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
func allVoteIn(ctx context.Context, members []holdfast.QuorumMember) (wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, n := range holdfast.InspectQuorum(ctx, members...) {
		if n.Err != nil {
			return holdfast.MaxQuorumTTL // at most, from its next answer on
		}
		wait = max(wait, n.VotesIn)
	}
	return wait
}

// printQuorum prints the id for programs, and says the rest.
func (a *app) printQuorum(ctx context.Context, id string, members []holdfast.QuorumMember, atOnce bool) error {
	wait := allVoteIn(ctx, members)
	out := quorumJSON{Quorum: id, VotesInMS: wait.Milliseconds()}
	for _, m := range members {
		out.Members = append(out.Members, m.Address)
	}
	if a.output == "json" {
		return printJSON(a.stdout, out)
	}
	when := "all nodes vote from now on"
	if wait > 0 {
		when = "all nodes vote in " + age(wait)
	}
	if wait > 0 && atOnce {
		when += ", because --at-once changes nothing at a node that had the quorum already"
	}
	a.say("the line on stdout is for Options.Quorum; %s: %s", when, strings.Join(out.Members, ", "))
	_, err := fmt.Fprintln(a.stdout, id)
	return err
}
