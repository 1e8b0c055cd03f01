package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/internal/view"
)

// Message is a post as JSON: one change, or several if the limit was reached.
type Message struct {
	Text   string    `json:"text"`   // for people: all that follows, in one line
	At     time.Time `json:"at"`     // of the first try
	Source string    `json:"source"` // the Redis, see Options.Source
	Began  []Problem `json:"began"`
	Ended  []Problem `json:"ended"`
	More   int       `json:"more"` // changes that the lists leave out
}

// Problem is the most serious problem of one name.
type Problem struct {
	Name     string        `json:"name"`
	Code     diagnose.Code `json:"code"`
	Sentence string        `json:"sentence,omitempty"` // not of an ended one
	Action   string        `json:"action,omitempty"`
	Since    time.Time     `json:"since"` // when it was first seen
}

const listed = 20 // changes of a message

// messageOf writes the message of some changes.
func messageOf(changes []change, source string, at time.Time) *Message {
	m := &Message{At: at.UTC(), Source: source, Began: []Problem{}, Ended: []Problem{}, More: max(0, len(changes)-listed)}
	began, ended := 0, 0
	for i, c := range changes {
		list, n := &m.Began, &began
		if c.ended {
			list, n = &m.Ended, &ended
		}
		*n++
		if i < listed {
			*list = append(*list, c.Problem)
		}
	}
	switch {
	case began == 1 && ended == 0:
		p := m.Began[0]
		m.Text = fmt.Sprintf("%s has a problem: %s: %s", p.Name, p.Code, p.Sentence)
		if p.Action != "" {
			m.Text += ". What to do: " + p.Action
		}
	case ended == 1 && began == 0:
		p := m.Ended[0]
		m.Text = fmt.Sprintf("%s has no problem any more: %s lasted %v", p.Name, p.Code, at.Sub(p.Since).Round(time.Second))
	default:
		m.Text = strings.Trim(sum("began", m.Began, began)+"; "+sum("ended", m.Ended, ended), "; ")
	}
	if source != "" {
		m.Text += " [" + source + "]"
	}
	m.Text = view.Text(m.Text)
	return m
}

// sum counts and lists what happened to several names.
func sum(what string, list []Problem, all int) string {
	if all == 0 {
		return ""
	}
	words := make([]string, 0, len(list)+1)
	for _, p := range list {
		words = append(words, fmt.Sprintf("%s (%s)", p.Name, p.Code))
	}
	if more := all - len(list); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("problems that %s: %d: %s", what, all, strings.Join(words, ", "))
}

// slackText escapes what Slack would act on, such as <!channel>.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// body is the message in a format.
func (m *Message) body(f Format) ([]byte, error) {
	if f == Slack {
		return json.Marshal(map[string]string{"text": slackText.Replace(m.Text)})
	}
	return json.Marshal(m)
}
