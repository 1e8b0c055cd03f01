package report

import (
	"math"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// measured are the modules whose versions the report names.
var measured = []string{
	"github.com/holdfast-go/holdfast",
	"github.com/go-redsync/redsync/v4",
	"github.com/bsm/redislock",
	"github.com/redis/rueidis", // rueidislock is a package of it
	"github.com/redis/go-redis/v9",
	"go.etcd.io/etcd/client/v3",
}

func versions() map[string]string {
	all := map[string]string{"go": strings.TrimPrefix(runtime.Version(), "go")}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return all
	}
	for _, module := range append(info.Deps, &info.Main) {
		if slices.Contains(measured, module.Path) {
			all[strings.TrimPrefix(module.Path, "github.com/")] = module.Version
		}
	}
	if commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		all["holdfast-go/holdfast"] = strings.TrimSpace(string(commit))
	}
	return all
}

// ServerVersion is the name and version of the server.
func ServerVersion(server *redistest.Server) (string, error) {
	fields, err := server.Info("server")
	if err != nil {
		return "", err
	}
	if version := fields["valkey_version"]; version != "" {
		return "Valkey " + version, nil
	}
	return "Redis " + fields["redis_version"], nil
}

// round rounds to a number of decimals, so that what is committed is no longer
// than what was measured.
func round(x float64, decimals int) float64 {
	unit := math.Pow10(decimals)
	return math.Round(x*unit) / unit
}
