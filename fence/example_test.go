package fence_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/fence"
)

// A resource in this process that refuses who held the name before.
func ExampleGate() {
	var gate fence.Gate
	older, newer := int64(41), int64(42) // Lease.Token of two leases, one after the other
	write := func(token int64) error {
		leave, err := gate.Enter(context.Background(), "invoice:42", token)
		if err != nil {
			return err
		}
		defer leave()
		// read, and write: no newer token gets in meanwhile
		return nil
	}
	fmt.Println(write(older))
	fmt.Println(write(newer))
	err := write(older) // it was frozen, and is late
	fmt.Println(err, errors.Is(err, holdfast.ErrLost))
	// Output:
	// <nil>
	// <nil>
	// holdfast: invoice:42: token 41 is stale: 42 has written true
}

// A service that refuses writes with stale tokens, and a client that is told so.
func ExampleHandler() {
	service := httptest.NewServer(&fence.Handler{
		Gate:     new(fence.Gate),
		Required: true,
		Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}),
	})
	defer service.Close()
	put := func(token string) (*http.Response, error) {
		request, err := http.NewRequest(http.MethodPut, service.URL+"/invoices/42", nil)
		if err != nil {
			return nil, err
		}
		if token != "" {
			request.Header.Set(fence.Header, token) // fence.SetHeader does, of a lease
		}
		return http.DefaultClient.Do(request)
	}
	for _, token := range []string{"41", "42", "41", ""} {
		answer, err := put(token)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(answer.StatusCode, fence.Refused(answer))
		_ = answer.Body.Close()
	}
	// Output:
	// 204 <nil>
	// 204 <nil>
	// 412 holdfast: /invoices/42: token 41 is stale: 42 has written
	// 428 <nil>
}

// What a Table executes, for those who write their own SQL.
func ExampleTable() {
	fmt.Println(fence.Table("").Create())
	fmt.Println(fence.Table("").Statement())
	// Output:
	// CREATE TABLE IF NOT EXISTS fence (resource TEXT PRIMARY KEY, token BIGINT NOT NULL)
	// INSERT INTO fence AS held (resource, token) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE held.token <= excluded.token
}
