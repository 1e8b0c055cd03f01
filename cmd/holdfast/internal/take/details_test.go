package take

import "testing"

// By default a command is shown without its arguments.
func TestCommandInDetails(t *testing.T) {
	for _, test := range []struct {
		argv           []string
		program, asked string
	}{
		{[]string{"./backup"}, "backup", "./backup"},
		{[]string{"/opt/backup.sh", "hunter2"}, "backup.sh and 1 argument", "/opt/backup.sh hunter2"},
		{[]string{"echo", "two words", "it's", ""}, "echo and 3 arguments", `echo 'two words' 'it'\''s' ''`},
	} {
		for stored, want := range map[string]string{"program": test.program, "command": test.asked} {
			if got := (&Details{stored: stored}).Of(test.argv).Command; got != want {
				t.Errorf("%s of %q: got %s, want %s", stored, test.argv, got, want)
			}
		}
	}
}
