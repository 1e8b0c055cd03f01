package search_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// servedByNode is a line that TestHistories of internal/ballot writes.
type servedByNode struct {
	First    bool
	Node     int
	At       int64 // microseconds
	Script   string
	Keys     []string
	Args     []string
	Answer   wire.Answer
	Commands [][]string
}

// The model of the nodes of a quorum answers as the scripts do, in histories of Ballots that meet
// faults at random.
func TestNodesAnswerAsScripts(t *testing.T) {
	histories := historiesOf(t, "ballot", func(line servedByNode) bool { return line.First })
	words := map[string]int{}
	for _, h := range histories {
		if playNodes(t, h, words); t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %v", len(histories), words)
	for _, word := range []string{"granted", "held", "no vote", "no member", "raised", "renewed", "lost", "repaired", "released", "not held"} {
		if words[word] == 0 {
			t.Errorf("no script answered %q", word)
		}
	}
}

var runID = regexp.MustCompile(`run_id:(\w+)`)

// playNodes runs one history on the scripts.
func playNodes(t *testing.T, history []servedByNode, words map[string]int) {
	now := time.UnixMicro(history[0].At)
	nodes := map[int]*embedded.Store{}
	for i, line := range history {
		now = time.UnixMicro(line.At)
		node := nodes[line.Node]
		if node == nil {
			var err error
			if node, err = embedded.Open(&embedded.Options{Now: func() time.Time { return now }}); err != nil {
				t.Fatal(err)
			}
			defer node.Close()
			nodes[line.Node] = node
		}
		for _, c := range line.Commands {
			do(t, node, c)
		}
		if line.Script == "" {
			continue
		}
		reply, err := node.Eval(t.Context(), driver.Call{Script: named(t, line.Script), Keys: line.Keys, Args: line.Args})
		if err != nil {
			t.Fatalf("%d. %s %q: %v", i, line.Script, line.Args, err)
		}
		have, err := wire.DecodeAnswer(reply)
		if err != nil {
			t.Fatal(err)
		}
		want := line.Answer
		words[want.Word.String()]++
		have.Server, have.Run, want.Run = 0, "", ""
		if want != have {
			t.Errorf("%d. at %d, node %d, %s %q:\n the scripts answer %+v\nthe model answers %+v", i, line.At, line.Node, line.Script, line.Args, have, want)
			return
		}
	}
}

// do runs a command. RUN is the run id of the node.
func do(t *testing.T, node *embedded.Store, command []string) {
	info, err := node.Do("INFO", "server")
	if err != nil {
		t.Fatal(err)
	}
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.Replace(a, "RUN", runID.FindStringSubmatch(info.(string))[1], 1)
	}
	if _, err := node.Do(args...); err != nil {
		t.Fatal(err)
	}
}
