package main

import (
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/audit"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/bench"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/complete"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/demo"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/doctor"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/elect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/help"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/lease"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/order"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/run"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/scripts"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/serve"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/show"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/top"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/watch"
	"github.com/spf13/cobra"
)

// The help lists commands in the order of addCommands.
func init() { cobra.EnableCommandSorting = false }

const groupTools = "tools"

// addCommands gives root all its commands, in groups.
func addCommands(a *cli.App, root *cobra.Command) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"jobs", "Run commands:", []*cobra.Command{run.Command(a), elect.Command(a), show.JobsCommand(a)}},
		{"locks", "Inspect locks:", []*cobra.Command{
			show.LsCommand(a), show.Command(a), top.Command(a), watch.Command(a), show.HistoryCommand(a), audit.Command(a),
		}},
		{"operators", "Change locks:", []*cobra.Command{order.RevokeCommand(a), order.StealCommand(a), order.ResizeCommand(a)}},
		{"leases", "Leases for scripts:", []*cobra.Command{
			lease.AcquireCommand(a), lease.RenewCommand(a), lease.CheckCommand(a), lease.ReleaseCommand(a),
		}},
		{"servers", "Servers:", []*cobra.Command{
			doctor.Command(a), bench.Command(a), quorum.Command(a), serve.Command(a), dev.Command(a), scripts.Command(a),
		}},
		{groupTools, "Tools:", []*cobra.Command{
			demo.Command(a), cli.VersionCommand(a), complete.Command(a), help.ManCommand(a),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
}
