package cli

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	value *string
	words []string
}

// NewChoice sets value to the first word, the default.
func NewChoice(value *string, words ...string) *Choice {
	*value = words[0]
	return &Choice{value, words}
}

func (c *Choice) String() string { return *c.value }

// Type returns the words, as help shows them.
func (c *Choice) Type() string { return strings.Join(c.words, "|") }

// Set takes one of the words.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, " or "))
	}
	*c.value = word
	return nil
}
