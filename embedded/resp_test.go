package embedded_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

func TestRead(t *testing.T) {
	long := strings.Repeat("y", 10_000)
	tests := []struct {
		text string
		want any
	}{
		{"+OK\r\n", "OK"},
		{"+\r\n", ""},
		{":-42\r\n", int64(-42)},
		{"$3\r\na\r\n\r\n", "a\r\n"},
		{"$0\r\n\r\n", ""},
		{"$-1\r\n", nil},
		{"*-1\r\n", nil},
		{"-ERR no\r\n", driver.ServerError("ERR no")},
		{"-ERR " + long + "\r\n", driver.ServerError("ERR " + long)},
		{"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", "[1 [x]]"},
	}
	for _, test := range tests {
		got, err := embedded.Read(bufio.NewReader(iotest.OneByteReader(strings.NewReader(test.text))))
		if list, ok := got.([]any); ok {
			got = fmt.Sprint(list)
		}
		if err != nil || got != test.want {
			t.Errorf("%.40q: got %.40v, %v, want %.40v", test.text, got, err, test.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{
		"", "\r\n", "OK\r\n", "+OK\n", "+OK", ":x\r\n", ":\r\n", "$x\r\n", "$-2\r\n", "$5\r\nab\r\n", "$2\r\nabcd",
		"*x\r\n", "*-2\r\n", "*1\r\n", "*999999999\r\n", "%1\r\n", "$99999999999999999999\r\n",
		strings.Repeat("*1\r\n", 100) + ":1\r\n", ":" + strings.Repeat("1", 10_000) + "\r\n",
	} {
		if got, err := embedded.Read(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%.40q: got %v, want an error", text, got)
		}
	}
}

// FuzzRead: nothing that arrives makes it panic, and what it takes can be said
// again and read as the same.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR x\r\n", ":12\r\n", "$3\r\nabc\r\n", "$-1\r\n", "*2\r\n$1\r\na\r\n:5\r\n", "*1\r\n*1\r\n*0\r\n",
		"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n", "$16777217\r\n", "*1048577\r\n", "*-7\r\n", ":+1\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := embedded.Read(bufio.NewReader(strings.NewReader(string(data))))
		if err != nil {
			return
		}
		var again strings.Builder
		write(&again, value)
		back, err := embedded.Read(bufio.NewReader(strings.NewReader(again.String())))
		if err != nil {
			t.Fatalf("%q: %v", again.String(), err)
		}
		if got, want := fmt.Sprintf("%#v", back), fmt.Sprintf("%#v", value); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func write(w io.Writer, value any) {
	switch value := value.(type) {
	case nil:
		_, _ = io.WriteString(w, "$-1\r\n")
	case string:
		_, _ = fmt.Fprintf(w, "$%d\r\n%s\r\n", len(value), value)
	case int64:
		_, _ = fmt.Fprintf(w, ":%d\r\n", value)
	case driver.ServerError:
		_, _ = fmt.Fprintf(w, "-%s\r\n", value)
	case []any:
		_, _ = fmt.Fprintf(w, "*%d\r\n", len(value))
		for _, element := range value {
			write(w, element)
		}
	}
}
