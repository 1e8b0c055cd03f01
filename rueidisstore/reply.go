package rueidisstore

import (
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/rueidis"
)

// decode flattens a script's answer as driver.Store asks for it.
func decode(result rueidis.RedisResult) ([]string, error) {
	message, err := answer(result)
	if err != nil || message.IsNil() {
		return nil, err
	}
	if !message.IsArray() {
		text, err := text(message)
		if err != nil {
			return nil, err
		}
		return []string{text}, nil
	}
	values, err := message.ToArray()
	if err != nil {
		return nil, err
	}
	list := make([]string, len(values))
	for i, value := range values {
		if list[i], err = text(value); err != nil {
			return nil, fmt.Errorf("element %d of the answer: %w", i, err)
		}
	}
	return list, nil
}

// answer is what the server said, and an error if that was one, or if it said
// nothing.
func answer(result rueidis.RedisResult) (rueidis.RedisMessage, error) {
	if err := result.NonRedisError(); err != nil {
		return rueidis.RedisMessage{}, err
	}
	message, err := result.ToMessage()
	if _, ok := rueidis.IsRedisErr(err); ok {
		return rueidis.RedisMessage{}, refusal(message)
	}
	return message, nil
}

// refusal is the server's error word for word. The error that rueidis makes of
// it lacks a leading "ERR ".
func refusal(message rueidis.RedisMessage) error {
	words, _ := message.ToString()
	return driver.ServerError(words)
}

func text(message rueidis.RedisMessage) (string, error) {
	switch {
	case message.IsNil(): // a false or nil in a Lua table
		return "", nil
	case message.IsString():
		return message.ToString()
	case message.IsInt64():
		n, err := message.ToInt64()
		return strconv.FormatInt(n, 10), err
	case message.IsBool():
		yes, err := message.ToBool()
		if yes {
			return "1", err
		}
		return "", err
	case message.IsArray(), message.IsMap():
		return "", fmt.Errorf("rueidisstore: want text or integer, got %.100s", message.String())
	}
	if err := message.Error(); err != nil {
		return "", refusal(message)
	}
	return message.ToString() // a double, a big number
}
