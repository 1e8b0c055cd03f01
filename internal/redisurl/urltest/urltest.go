// Package urltest holds the URLs that every driver must take, and those that it
// must refuse.
package urltest

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/redisurl"
)

// Summary is what a URL says, or what of a driver's options comes from one.
func Summary(u redisurl.URL) string {
	s := fmt.Sprintf("%s user=%q password=%q db=%d", strings.Join(u.Addrs, ","), u.User, u.Password, u.DB)
	if u.TLS != nil {
		s += " tls=" + u.TLS.ServerName
	}
	if u.Master != "" {
		s += fmt.Sprintf(" master=%q user=%q password=%q", u.Master, u.SentinelUser, u.SentinelPassword)
	}
	return s
}

// Taken gives the Summary of URLs that are right.
var Taken = map[string]string{
	"redis://h":                        `h:6379 user="" password="" db=0`,
	"redis://h/":                       `h:6379 user="" password="" db=0`,
	"valkey://h:1234/5":                `h:1234 user="" password="" db=5`,
	"redis://[::1]:7":                  `[::1]:7 user="" password="" db=0`,
	"redis://[::1]":                    `[::1]:6379 user="" password="" db=0`,
	"redis://:p%40%2F%3A%25+@h":        `h:6379 user="" password="p@/:%+" db=0`,
	"redis://a%3Ab:p@ss:word@h":        `h:6379 user="a:b" password="p@ss:word" db=0`,
	"rediss://u:p@h?server_name=other": `h:6379 user="u" password="p" db=0 tls=other`,
	"valkeys://h":                      `h:6379 user="" password="" db=0 tls=`,
	"unix:///run/redis.sock":           `/run/redis.sock user="" password="" db=0`,
	"unix://u:p@/run/r%40.sock?db=3":   `/run/r@.sock user="u" password="p" db=3`,
	"cluster://a,b:2,[::1]:3":          `a:6379,b:2,[::1]:3 user="" password="" db=0`,
	"clusters://u:p@a/":                `a:6379 user="u" password="p" db=0 tls=`,
	"sentinel://a,b:2/main":            `a:26379,b:2 user="" password="" db=0 master="main" user="" password=""`,
	"sentinel://u:p@a/m%2Fn/4":         `a:26379 user="u" password="p" db=4 master="m/n" user="" password=""`,
	"sentinels://a/m?sentinel_user=s&sentinel_password=q%40r": `a:26379 user="" password="" db=0 tls= master="m" user="s" password="q@r"`,
}

// Refused gives what the errors of URLs that are wrong must say. None may say
// "hunter", which stands for a password.
var Refused = map[string]string{
	"":                              "want redis://",
	"localhost:6379":                "want redis://",
	"http://h":                      "want redis://",
	"unixs:///s":                    "want redis://",
	"redis://":                      "address",
	"redis://:6379":                 "address",
	"redis://h:":                    "port",
	"redis://h:99999":               "port",
	"redis://h:0":                   "port",
	"redis://::1":                   "IPv6",
	"redis://[::1":                  "IPv6",
	"redis://[x]:1":                 "IPv6",
	"redis://a,b":                   "cluster://",
	"redis://h/x":                   "database",
	"redis://h/1/2":                 "database",
	"redis://h/-1":                  "database",
	"redis://user@h":                "without a password",
	"redis://u:p%zz@h":              "%25",
	"redis://u:hunter/2@h":          "percent-encoded",
	"redis://u:hunter?2@h":          "percent-encoded",
	"redis://u:hunter#2@h":          "percent-encoded",
	"redis://h#x":                   "percent-encoded",
	"redis://h?timeout=3":           "unknown parameter timeout",
	"redis://h?Hunter%212=3":        "%26",
	"redis://h?ca=x":                "parameter ca needs TLS",
	"redis://h?%zz":                 "percent-encoded",
	"rediss://h?ca=a&ca=b":          "more than once",
	"rediss://h?ca=/nonexistent":    "parameter ca",
	"rediss://h?ca=/":               "not a file",
	"rediss://h?cert=x":             "go together",
	"unix://host/path":              "three slashes",
	"unix://":                       "three slashes",
	"unix:///s?db=x":                "database",
	"cluster://a/1":                 "no databases",
	"cluster://a,":                  "address",
	"sentinel://a":                  "master",
	"sentinel://a/":                 "master",
	"sentinel://a/m/x":              "database",
	"sentinel://a/m?sentinel_pass=": "unknown parameter sentinel_pass",
	"sentinel://a/m?sentinel_password=x&hunter": "%26",
}
