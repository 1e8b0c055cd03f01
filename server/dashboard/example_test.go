package dashboard_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

func ExampleHandler() {
	store, err := embedded.Open(nil) // for production: rueidisstore.Open("redis://…", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	mux := http.NewServeMux()
	mux.Handle("/locks/", dashboard.Handler(admin.New(store, nil), &dashboard.Options{
		BasePath: "/locks",
		Journal:  dashboard.JournalIn(store, ""),
		Authorize: func(r *http.Request, action dashboard.Action) error {
			if r.Header.Get("X-Role") != "operator" { // set by the proxy that knows who it is
				return errors.New("only operators revoke and steal")
			}
			return nil
		},
	}))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/locks/", nil))
	fmt.Println(answer.Code, answer.Header().Get("X-Frame-Options"))
	// Output: 200 DENY
}
