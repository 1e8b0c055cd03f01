package bench

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
)

// userScript is what the holder has Redis do.
const userScript = `return redis.call("INCRBY", KEYS[1], ARGV[1])`

var (
	userArgs    = []string{"1"}
	plainScript = rueidis.NewLuaScript(userScript)
)

var holdfastEval = ofFamily("Lease.Eval of a script with one INCRBY, under one lease.",
	func(client *holdfast.Client, name string) (mutex, error) {
		lease, err := client.Mutex(name).Lock(context.Background())
		if err != nil {
			return nil, err
		}
		keys := []string{"counter:" + name}
		return &call{do: func(ctx context.Context, _ string) error {
			_, err := lease.Eval(ctx, userScript, keys, userArgs)
			return err
		}}, nil
	})

var evalshaLimit = contender{
	who: "limit-evalsha", library: "rueidis",
	settings: "EVALSHA of the same script, without a lock.",
	sends:    []string{"evalsha", "eval", "ping"},
	open: openRueidis(func(rc rueidis.Client, name string) mutex {
		keys := []string{"counter:" + name}
		return &call{do: func(ctx context.Context, _ string) error {
			return plainScript.Exec(ctx, rc, keys, userArgs).Error()
		}}
	}),
}
