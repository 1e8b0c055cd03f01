package take

import "testing"

// What looks like a secret in a command is not told to others; the rest is.
func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		argv []string
		want string
	}{
		{[]string{"./backup", "--all"}, "./backup --all"},
		{[]string{"echo", "two words", "it's", ""}, `echo 'two words' 'it'\''s' ''`},
		{[]string{"pg_dump", "--password=hunter2", "db"}, "pg_dump --password=*** db"},
		{[]string{"app", "--api-key", "hunter2", "--all"}, "app --api-key *** --all"},
		{[]string{"app", "--token", "--all"}, "app --token --all"},
		{[]string{"env", "DB_PASSWORD=hunter2", "./run"}, "env DB_PASSWORD=*** ./run"},
		{[]string{"psql", "postgres://bob:hunter2@db/x"}, "psql postgres://***@db/x"},
		{[]string{"psql", "postgres://bob:hunt@er2@db/x"}, "psql postgres://***@db/x"},
		{[]string{"curl", "https://x.test/?a=1&access_token=hunter2&b=2"}, "curl https://x.test/?a=1&access_token=***&b=2"},
		{[]string{"curl", "-H", "Authorization: Bearer hunter2", "x"}, "curl -H 'Authorization: ***' x"},
		{[]string{"curl", "-u", "bob:hunter2", "x"}, "curl -u *** x"},
		{[]string{"mysql", "-phunter2", "db"}, "mysql -p*** db"},
		{[]string{"sh", "-c", "PGPASSWORD='hunter2' psql --secret hunter2 -q"}, `sh -c 'PGPASSWORD=*** psql --secret *** -q'`},
		{[]string{"sudo", "mariadb-dump", "-phunter2", "db"}, "sudo mariadb-dump -p*** db"},
		{[]string{"redis-cli", "-h", "db", "-a", "hunter2", "ping"}, "redis-cli -h db -a *** ping"},
		{[]string{"ls", "-a", "dir"}, "ls -a dir"},
		{[]string{"curl", "-ubob:hunter2", "x"}, "curl -u*** x"},
		{[]string{"sshpass", "-phunter2", "ssh", "x"}, "sshpass -p*** ssh x"},
		{[]string{"app", "--dsn=bob:hunter2@tcp(db:3306)/x"}, "app --dsn=bob:***@tcp(db:3306)/x"},
		{[]string{"git", "clone", "git@x.test:a/b"}, "git clone git@x.test:a/b"},
		{[]string{"app", "ghp_0123456789abcdefghij"}, "app ***"},
		{[]string{"sh", "-c", "redis-cli -a hunter2 ping; mysql -u root -phunter2 db && curl -s -u bob:hunter2 x"}, "sh -c 'redis-cli -a *** ping; mysql -u root -p*** db && curl -s -u *** x'"},
		{[]string{"app", "eyJhbGciOi.eyJzdWIi.SflKxw"}, "app ***"},
	} {
		if got := commandLine(test.argv); got != test.want {
			t.Errorf("%q: got %s, want %s", test.argv, got, test.want)
		}
	}
}
