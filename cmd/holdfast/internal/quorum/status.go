package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/spf13/cobra"
)

func quorumStatusCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status URL...",
		Short: "Show which nodes vote, and why the others do not",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("%s wants the URLs of the nodes", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return quorumStatus(cmd.Context(), a, args)
		},
	}
	a.OutputFlag(cmd)
	return cmd
}

func quorumStatus(ctx context.Context, a *cli.App, urls []string) error {
	members, closeAll, err := members(ctx, a, urls, func(string) bool { return true })
	if err != nil {
		return err
	}
	defer closeAll()
	out := newQuorumStatus(quorum.Inspect(ctx, members...))
	if a.Output == "json" {
		err = console.PrintJSON(a.Stdout, out)
	} else {
		out.print(a.Page())
		a.Say("%d nodes vote, %d are needed", out.Voting, out.Need)
	}
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
