package redistest

import "strings"

// Info returns the fields of a section of INFO.
func (s *Server) Info(section string) (map[string]string, error) {
	text, err := s.Do("INFO", section)
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, err
}
