package rivals

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// userScript is what the holder has Redis do.
const userScript = `return redis.call("INCRBY", KEYS[1], ARGV[1])`

var (
	userArgs    = []string{"1"}
	plainScript = rueidis.NewLuaScript(userScript)
)

// HoldfastEval is Lease.Eval.
var HoldfastEval = ofFamily("Lease.Eval of a script with one INCRBY, under one lease.",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
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

// EvalshaLimit runs the same script without a lock.
var EvalshaLimit = contend.Contender{
	Who: "limit-evalsha", Library: "rueidis",
	Settings: "EVALSHA of the same script, without a lock.",
	Sends:    []string{"evalsha", "eval", "ping"},
	Open: contend.OpenRueidis(func(rc rueidis.Client, name string) contend.Mutex {
		keys := []string{"counter:" + name}
		return &call{do: func(ctx context.Context, _ string) error {
			return plainScript.Exec(ctx, rc, keys, userArgs).Error()
		}}
	}),
}
