package cli

import (
	"fmt"
	"slices"
	"strings"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	words []string
}

// NewChoice sets value to the first word, the default.
func NewChoice(value *string, words ...string) *choice {
	*value = words[0]
	return &choice{value, words}
}

func (c *choice) String() string { return *c.value }

func (c *choice) Type() string { return strings.Join(c.words, "|") }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, " or "))
	}
	*c.value = word
	return nil
}
