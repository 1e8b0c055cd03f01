package rueidisstore_test

import (
	"context"
	"log"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

// The client of the program, which may also run other commands.
func ExampleNew() {
	rc, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{"127.0.0.1:6379"},
		PipelineMultiplex: -1, // one connection: see New
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rc.Close()

	client := holdfast.New(rueidisstore.New(rc), nil)
	defer client.Close()

	err = holdfast.Do(context.Background(), client.Mutex("invoice:42"),
		func(ctx context.Context, lease *holdfast.Lease) error {
			return charge(ctx, lease.Token())
		})
	if err != nil {
		log.Print(err)
	}
}

// A client of the store's own, made from a URL.
func ExampleOpen() {
	store, err := rueidisstore.Open("sentinel://10.0.0.1:26379,10.0.0.2:26379/main", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	client := holdfast.New(store, &holdfast.Options{TTL: 5 * time.Second})
	defer client.Close()
}

// A password that is read again for each new connection.
func ExampleOptions() {
	store, err := rueidisstore.Open("rediss://cache.example.com:6379", &rueidisstore.Options{
		Adjust: func(o *rueidis.ClientOption) {
			o.AuthCredentialsFn = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
				return rueidis.AuthCredentials{Username: "locks", Password: freshPassword()}, nil
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}

func freshPassword() string { return "" } // from the vault of the program

func charge(context.Context, int64) error { return nil } // the work
