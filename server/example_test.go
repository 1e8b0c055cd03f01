package server_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server"
)

// The API below /locks of a server that has other pages, too. Each request
// needs a token of the file; without Options.Tokens none is needed.
func ExampleHandler() {
	store, err := embedded.Open(nil) // for production: rueidisstore.Open("redis://...", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	client := holdfast.New(store, &holdfast.Options{Details: &holdfast.Details{}})
	defer client.Close()

	api, err := server.Handler(client, &server.Options{BasePath: "/locks"})
	if err != nil {
		log.Print(err)
		return
	}
	defer api.Close(context.Background())
	mux := http.NewServeMux()
	mux.Handle("/locks/", api)

	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "http://localhost/locks/v1/leases", strings.NewReader(`{"name": "invoice:42", "ttl": "30s"}`))
	request.Header.Set("Content-Type", "application/json")
	mux.ServeHTTP(answer, request)
	fmt.Println(answer.Code, strings.Contains(answer.Body.String(), `"token"`))
	// Output: 201 true
}
