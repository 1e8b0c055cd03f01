package main

import (
	"github.com/spf13/cobra"
)

// The help lists commands in the order of addCommands.
func init() { cobra.EnableCommandSorting = false }

const groupTools = "tools"

// addCommands gives root all its commands, in groups.
func (a *app) addCommands(root *cobra.Command) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"jobs", "Run commands:", []*cobra.Command{a.runCommand(), a.electCommand(), a.jobsCommand()}},
		{"locks", "Inspect locks:", []*cobra.Command{
			a.lsCommand(), a.showCommand(), a.topCommand(), a.watchCommand(), a.historyCommand(), a.auditCommand(),
		}},
		{"operators", "Change locks:", []*cobra.Command{a.revokeCommand(), a.stealCommand(), a.resizeCommand()}},
		{"leases", "Leases for scripts:", []*cobra.Command{
			a.acquireCommand(), a.renewCommand(), a.checkCommand(), a.releaseCommand(),
		}},
		{"servers", "Servers:", []*cobra.Command{
			a.doctorCommand(), a.benchCommand(), a.quorumCommand(), a.serveCommand(), a.devCommand(),
		}},
		{groupTools, "Tools:", []*cobra.Command{
			a.demoCommand(), a.versionCommand(), a.completionCommand(), a.manCommand(),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
}
