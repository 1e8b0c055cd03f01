package goredisstore

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/redis/go-redis/v9"
)

// decode flattens a script's answer as driver.Store asks for it.
func decode(cmd *redis.Cmd) ([]string, error) {
	reply, err := cmd.Result()
	if err != nil {
		if err == redis.Nil { //nolint:errorlint // it comes as it is
			return nil, nil
		}
		return nil, refusal(err)
	}
	values, ok := reply.([]any)
	if !ok {
		text, err := text(reply)
		if err != nil {
			return nil, err
		}
		return []string{text}, nil
	}
	list := make([]string, len(values))
	for i, value := range values {
		if list[i], err = text(value); err != nil {
			return nil, fmt.Errorf("element %d of the answer: %w", i, err)
		}
	}
	return list, nil
}

// refusal is the server's error word for word if err is one, and else err. A refused login is no
// answer to a call: the connection was not made. While a password rotates, the next login may
// succeed.
func refusal(err error) error {
	err = said(err)
	if text, ok := errors.AsType[driver.ServerError](err); ok && (strings.HasPrefix(string(text), "WRONGPASS ") || strings.HasPrefix(string(text), "NOAUTH ")) {
		return errors.New("goredisstore: cannot log in: " + string(text))
	}
	return err
}

// said is the server's error word for word if err is one, and else err.
func said(err error) error {
	if said, ok := errors.AsType[redis.Error](err); ok {
		return driver.ServerError(said.Error())
	}
	return err
}

func text(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case nil: // a false or nil in a Lua table
		return "", nil
	case bool:
		if value {
			return "1", nil
		}
		return "", nil
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64), nil
	case *big.Int:
		return value.String(), nil
	case error:
		return "", refusal(value)
	}
	return "", fmt.Errorf("goredisstore: want text or integer, got %.100s", fmt.Sprint(value))
}
