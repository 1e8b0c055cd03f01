// Package quorum is 'holdfast quorum': it creates, inspects and changes a quorum.
package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
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
	cmd := a.Command("init NAME URL URL URL...", "Create a quorum of masters that are in none", cli.Args(4, math.MaxInt, "a NAME and three or more URLs"), func(ctx context.Context, args []string) error {
		if !quorumName.MatchString(args[0]) {
			return cli.Usagef("quorum name %q: want at most 64 letters, digits, - and _", args[0])
		}
		if err := checkURLs(args[1:]); err != nil {
			return err
		}
		members, closeAll, err := members(ctx, a, args[1:], false)
		if err != nil {
			return err
		}
		defer closeAll()
		id, err := quorum.Init(ctx, args[0], atOnce, members...)
		if err != nil {
			return err
		}
		return printQuorum(ctx, a, id, members, atOnce)
	})
	cmd.Flags().BoolVar(&atOnce, "at-once", false, "let the nodes vote at once: they never had a lock")
	a.OutputFlag(cmd)
	return cmd
}

func quorumReplaceCommand(a *cli.App) *cobra.Command {
	var from, gone []string
	cmd := a.Command("replace --from URL... URL...", "Change the members of a quorum", cli.Args(3, math.MaxInt, "three or more URLs, and as many with --from"), func(ctx context.Context, args []string) error {
		for i, url := range gone {
			gone[i] = cli.PublicURL(url)
			if !slices.ContainsFunc(from, func(f string) bool { return cli.PublicURL(f) == gone[i] }) {
				return cli.Usagef("--gone %s: it must be one of --from", gone[i])
			}
		}
		if err := cmp.Or(checkURLs(from), checkURLs(args)); err != nil {
			return err
		}
		old, closeOld, err := members(ctx, a, from, true)
		if err != nil {
			return err
		}
		defer closeOld()
		members, closeAll, err := members(ctx, a, args, false)
		if err != nil {
			return err
		}
		defer closeAll()
		id, err := quorum.Replace(ctx, old, members, gone...)
		if err != nil {
			return err
		}
		return printQuorum(ctx, a, id, members, false)
	})
	cmd.Flags().StringArrayVar(&from, "from", nil, "`URL` of a current member; repeat for each")
	cmd.Flags().StringArrayVar(&gone, "gone", nil, "`URL` of --from that never comes back")
	a.OutputFlag(cmd)
	return cmd
}

// quorumName is what can name a quorum, as quorum.Init has it.
var quorumName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkURLs returns an error if the number of servers is even or 1, or one is given twice.
func checkURLs(urls []string) error {
	if len(urls)%2 == 0 || len(urls) < 3 {
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

// members opens the servers side by side. If some may be silent, a server that does not
// answer is no error: it is reported, and has no store.
func members(ctx context.Context, a *cli.App, urls []string, silent bool) ([]quorum.Member, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	members := make([]quorum.Member, len(urls))
	errs := make([]error, len(urls))
	ends := make([]func() error, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		members[i].Address = cli.PublicURL(url)
		all.Go(func() {
			store, err := connect.OpenURL(ctx, a, url)
			if coded, ok := errors.AsType[*cli.ExitError](err); ok {
				err = cli.Exit(coded.Code, errors.New(strings.TrimSuffix(coded.Error(), connect.OtherServer)))
			}
			if errs[i] = err; err == nil {
				members[i].Store, ends[i] = store, store.Close
			}
		})
	}
	all.Wait()
	closeAll := func() {
		for _, end := range ends {
			if end != nil {
				_ = end()
			}
		}
	}
	for _, err := range errs {
		switch {
		case err == nil:
		case silent && cli.CodeOf(err) == cli.ExitUnreachable:
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

func quorumStatusCommand(a *cli.App) *cobra.Command {
	cmd := a.Command("status URL...", "Show which nodes vote, and why the others do not", cli.Args(1, math.MaxInt, "the URLs of the nodes"), func(ctx context.Context, args []string) error {
		return quorumStatus(ctx, a, args)
	})
	a.OutputFlag(cmd)
	return cmd
}

func quorumStatus(ctx context.Context, a *cli.App, urls []string) error {
	members, closeAll, err := members(ctx, a, urls, true)
	if err != nil {
		return err
	}
	defer closeAll()
	out := newQuorumStatus(quorum.Inspect(ctx, members...))
	err = a.Print(out, func(s console.Screen) {
		out.print(s)
		a.Say("%d nodes vote, %d are needed", out.Voting, out.Need)
	})
	if err == nil && !out.Majority {
		return cli.Exit(cli.ExitTempFail, nil)
	}
	return err
}

type quorumStatusJSON struct {
	Quorum   *string          `json:"quorum"`
	Need     int              `json:"need"`
	Voting   int              `json:"voting"`
	Majority bool             `json:"majority"`
	Nodes    []quorumNodeJSON `json:"nodes"`
}

type quorumNodeJSON struct {
	Address    string  `json:"address"`
	Error      *string `json:"error"`
	Run        string  `json:"run"`
	UptimeMS   int64   `json:"uptime_ms"`
	Persistent bool    `json:"persistent"`
	Quorum     *string `json:"quorum"`
	Successor  *string `json:"successor"`
	Restarted  bool    `json:"restarted"`
	VotesInMS  int64   `json:"votes_in_ms"`
	Votes      bool    `json:"votes"`
}

func newQuorumStatus(nodes []quorum.Node) quorumStatusJSON {
	out := quorumStatusJSON{Need: len(nodes)/2 + 1, Nodes: []quorumNodeJSON{}}
	borne := map[string]int{}
	for _, n := range nodes {
		if borne[n.Quorum]++; n.Quorum != "" && (out.Quorum == nil || borne[n.Quorum] > borne[*out.Quorum]) {
			out.Quorum = new(n.Quorum)
		}
	}
	if out.Quorum != nil {
		out.Need = quorum.Size(*out.Quorum)/2 + 1
	}
	runs := map[string]bool{}
	for _, n := range nodes {
		row := quorumNodeJSON{
			Address: n.Address, Run: n.Run, UptimeMS: n.Uptime.Milliseconds(), Persistent: n.Persistent,
			Quorum: console.OrNull(n.Quorum), Successor: console.OrNull(n.Successor), Restarted: n.Restarted, VotesInMS: n.VotesIn.Milliseconds(),
			Votes: n.Err == nil && out.Quorum != nil && n.Quorum == *out.Quorum && n.Successor == "" && n.VotesIn == 0,
		}
		if n.Err != nil {
			row.Error = new(n.Err.Error())
		}
		if row.Votes && !runs[n.Run] {
			runs[n.Run] = true
			out.Voting++
		}
		out.Nodes = append(out.Nodes, row)
	}
	out.Majority = out.Quorum != nil && out.Voting >= out.Need
	return out
}

func (q quorumStatusJSON) print(s console.Screen) {
	rows := [][]string{{"NODE", "QUORUM", "STATE", "RUNS FOR", "AOF"}}
	first := map[string]string{}
	for _, n := range q.Nodes {
		row := []string{view.Text(n.Address), "-", "", "-", "-"}
		if n.Quorum != nil {
			row[1] = view.Text(*n.Quorum)
		}
		if n.Error == nil {
			row[3], row[4] = console.Age(time.Duration(n.UptimeMS)*time.Millisecond), map[bool]string{true: "yes", false: "no"}[n.Persistent]
		}
		row[2] = n.state(q, first[n.Run])
		if n.Error == nil && first[n.Run] == "" {
			first[n.Run] = n.Address
		}
		rows = append(rows, row)
	}
	console.PrintTable(s, rows)
}

// state says whether a node votes, and if not why; twin is another address of
// the same server.
func (n quorumNodeJSON) state(q quorumStatusJSON, twin string) string {
	left := console.Age(time.Duration(n.VotesInMS) * time.Millisecond)
	switch {
	case n.Error != nil:
		return view.Text(*n.Error)
	case twin != "":
		return "the same server as " + view.Text(twin)
	case n.Quorum == nil:
		return "no marker: it is new, or lost its data"
	case n.Successor != nil:
		return "has moved to " + view.Text(*n.Successor)
	case *n.Quorum != *q.Quorum:
		return "in another quorum"
	case n.Restarted:
		return fmt.Sprintf("restarted: votes %s after the next request to vote", left)
	case n.VotesInMS > 0:
		return "votes in " + left
	}
	return "votes"
}
