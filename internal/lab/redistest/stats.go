package redistest

import (
	"fmt"
	"strconv"
	"strings"
)

// CommandStats says how often each command ran since the start or ResetStats,
// by its name in lower case, subcommands as "config|get"; "total" is the sum.
// What a script calls counts under its own name and in the total, so the
// commands that clients sent are "evalsha", "eval" and what no script uses.
// The look itself is not in it, but counts for the next one.
func (s *Server) CommandStats() (map[string]int64, error) {
	info, err := s.Do("INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	calls := map[string]int64{"total": 0}
	for line := range strings.Lines(info) {
		name, values, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || !strings.HasPrefix(name, "cmdstat_") {
			continue
		}
		value, _, _ := strings.Cut(strings.TrimPrefix(values, "calls="), ",")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("redistest: commandstats line %q: %w", line, err)
		}
		calls[strings.TrimPrefix(name, "cmdstat_")] = n
		calls["total"] += n
	}
	return calls, nil
}

// ResetStats sets the statistics to nought. (It counts itself: "config|resetstat"
// is 1 afterwards.)
func (s *Server) ResetStats() error {
	_, err := s.Do("CONFIG", "RESETSTAT")
	return err
}

// field finds name in the answer of INFO, empty if it is not there.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
