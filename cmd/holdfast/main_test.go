package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"holdfast": func() {
		guard := len(os.Args) > 2 && strings.HasPrefix(os.Args[2], "--guard=") // it ends with its parent
		if tests, err := strconv.Atoi(os.Getenv(testedBy)); err == nil && !guard {
			endsWith(tests)
		}
		main()
	}})
}

// testedBy is the variable with the process id of the tests.
const testedBy = "TESTED_BY"

// tests are those of this package, with what the processes that they start inherit.
type tests struct{ *testing.M }

func (t tests) Run() int {
	_ = os.Setenv(testedBy, strconv.Itoa(os.Getpid()))
	if os.Getenv("GORACE") == "" { // else each process takes a second to end
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	if signal.Ignored(os.Interrupt) { // as in the background of a script
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // what is caught is the default in them
	}
	return t.M.Run()
}

// scriptCommands are the words that the scripts have beyond testscript's own.
// Other test files add theirs in an init function.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":   exits,
	"hold":    hold,
	"release": release,
	"queue":   queue,
	"redis":   redisCommand,
	"json":    checkJSON,
}

// Each script has a server of its own; HOLDFAST_REDIS_URL names it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Cmds:                scriptCommands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			server, err := dev.StartEmbedded("127.0.0.1:0")
			if err != nil {
				return err
			}
			w := &world{server: server, leases: map[string]*holdfast.Lease{}}
			env.Defer(w.end)
			env.Values[worldKey{}] = w
			env.Setenv("HOLDFAST_REDIS_URL", server.URL())
			env.Setenv(testedBy, os.Getenv(testedBy))
			return nil
		},
	})
}

// world is what a script plays in: its server, and the others who use it.
type world struct {
	server *embedded.Store
	ends   []func()
	leases map[string]*holdfast.Lease // by name, of hold
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func (w *world) end() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	w.server.Close()
}

func (w *world) client(owner string) *holdfast.Client {
	client := holdfast.New(w.server, &holdfast.Options{
		Owner: owner, TTL: time.Minute, Logger: slog.New(slog.DiscardHandler),
	})
	w.ends = append(w.ends, func() { client.Close() })
	return client
}

// exits CODE COMMAND [ARG...]: the command ends with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got, want := strconv.Itoa(code), args[0]; got != want {
		ts.Fatalf("exit code %s, want %s", got, want)
	}
}

// hold NAME OWNER [PART]: somebody else holds the name until release, or the
// script's end. See lockPart.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: hold NAME OWNER [PART]")
	}
	w := worldOf(ts)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	lease, err := lockPart(ctx, w.client(args[1]), args[0], args[2:])
	ts.Check(err)
	w.leases[args[0]] = lease
}

// release NAME: whoever holds the name by hold does so no longer.
func release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: release NAME")
	}
	ts.Check(worldOf(ts).leases[args[0]].Release())
}

// queue NAME OWNER [PART]: somebody else waits for the name. See lockPart.
func queue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: queue NAME OWNER [PART]")
	}
	w := worldOf(ts)
	client := w.client(args[1])
	ctx, cancel := context.WithCancel(context.Background())
	w.ends = append(w.ends, cancel)
	go func() {
		if lease, err := lockPart(ctx, client, args[0], args[2:]); err == nil {
			_ = lease.Release()
		}
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		state, err := admin.Of(client).Inspect(ctx, args[0])
		ts.Check(err)
		if slices.ContainsFunc(state.Waiters, func(w admin.Waiter) bool { return w.Owner == args[1] }) {
			return
		}
	}
	ts.Fatalf("%s does not wait for %s after 20 s", args[1], args[0])
}

// redis COMMAND [ARG...]: a command to the server, its answer on stdout.
func redisCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("redis cannot fail")
	}
	reply, err := worldOf(ts).server.Do(args...)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), reply)
}

// json PATH OP VALUE: what the last command printed is JSON, and what is at the
// path (keys and indices with dots between) is ==, != or > the value. "keys" as
// OP compares the sorted keys of an object, "len" the length of an array.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: json PATH ==|!=|>|keys|len VALUE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for step := range strings.SplitSeq(args[0], ".") {
		v = stepInto(ts, v, step)
	}
	got, want := fmt.Sprint(v), args[2]
	ok := got == want
	switch args[1] {
	case "==":
	case "!=":
		ok = !ok
	case ">":
		number, isNumber := v.(float64)
		least, err := strconv.ParseFloat(want, 64)
		ok = err == nil && isNumber && number > least
	case "keys":
		object, _ := v.(map[string]any)
		got = strings.Join(slices.Sorted(maps.Keys(object)), " ")
		ok = got == want
	case "len":
		array, _ := v.([]any)
		got = strconv.Itoa(len(array))
		ok = got == want
	default:
		ts.Fatalf("json: there is no %s", args[1])
	}
	if !ok {
		ts.Fatalf("%s is %s, want %s %s", args[0], got, args[1], want)
	}
}

func stepInto(ts *testscript.TestScript, v any, step string) any {
	switch v := v.(type) {
	case map[string]any:
		if field, ok := v[step]; ok {
			return field
		}
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i < len(v) {
			return v[i]
		}
	}
	if step == "" { // the whole
		return v
	}
	ts.Fatalf("json: there is no %s in %v", step, v)
	return nil
}

// runInProcess runs the program in this process.
func runInProcess(ctx context.Context, stdout, stderr io.Writer, args ...string) int {
	return execute(ctx, args, strings.NewReader(""), stdout, stderr)
}

// command is the program as a process of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command("holdfast", args...) // testscript.Main has put it into PATH
	cmd.Stderr = os.Stderr
	return cmd
}
