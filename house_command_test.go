//go:build !race

package holdfast_test

// The packages of the command form layers. From below: console writes; cli has the flags,
// exit codes and talk of all commands; connect makes a session of them; look says the state
// of a name; take takes a name; run runs a command under it; above them are the commands,
// which do not know each other. A package that needs two commands shows that something is
// missing below.
func init() {
	for _, room := range []struct {
		name  string
		rooms []string // of the command
		ours  []string // of the house, beside the root, admin, driver and internal/view
	}{
		{name: "console"},
		{name: "cli", rooms: []string{"console"}, ours: []string{"admin/doctor"}},
		{name: "help", rooms: []string{"console", "cli"}},
		{name: "signals", rooms: []string{"cli"}},
		{name: "guard", rooms: []string{"cli", "signals"}}, // a guard never asks Redis
		{name: "connect", rooms: []string{"console", "cli"}, ours: []string{"rueidisstore", "journal", "admin/doctor"}},
		{name: "inspect", rooms: []string{"console", "cli", "connect"}, ours: []string{"journal"}},
		{name: "operate", rooms: []string{"console", "cli", "connect", "inspect"}},
		{name: "take", rooms: []string{"console", "cli", "connect", "inspect", "operate"}, ours: []string{"journal", "admin/doctor"}}, // operate: --steal
		{name: "run", rooms: []string{"console", "cli", "help", "signals", "guard", "connect", "inspect", "take"}},
		{name: "elect", rooms: []string{"console", "cli", "signals", "guard", "connect", "take", "run"}}, // run: a term is a run
		{name: "lease", rooms: []string{"console", "cli", "signals", "connect", "inspect", "take"}},
		{name: "show", rooms: []string{"console", "cli", "connect", "inspect"}, ours: []string{"journal"}},
		{name: "top", rooms: []string{"console", "cli", "connect", "inspect", "operate"}}, // operate: revoke
		{name: "complete", rooms: []string{"console", "cli", "connect", "inspect"}, ours: []string{"journal"}},
		{name: "audit", rooms: []string{"console", "cli", "connect", "inspect"}, ours: []string{"journal"}},
		{name: "quorum", rooms: []string{"console", "cli", "connect"}, ours: []string{"quorum"}},
		{name: "doctor", rooms: []string{"console", "cli", "connect"}, ours: []string{"admin/doctor"}},
		{name: "bench", rooms: []string{"console", "cli", "connect"}},
		{name: "serve", rooms: []string{"console", "cli", "help", "connect", "take"}, ours: []string{"server", "server/auth", "server/dashboard", "server/notify", "contrib/prometheus"}},
		{name: "dev", rooms: []string{"cli"}, ours: []string{"embedded"}},
		{name: "demo", rooms: []string{"console", "cli", "connect", "dev"}, ours: []string{"embedded", "rueidisstore"}},
	} {
		dir := "cmd/holdfast/internal/"
		arrows[dir+room.name] = append([]string{"", "admin", "admin/diagnose", "driver", "internal/view"}, room.ours...)
		for _, other := range append(room.rooms, room.name) {
			arrows[dir+room.name] = append(arrows[dir+room.name], dir+other)
		}
	}
}
