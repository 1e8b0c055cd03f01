package goredisstore_test

import (
	"context"
	"log"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/redis/go-redis/v9"
)

// The client of the program, which may also run other commands.
func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer rdb.Close()

	client := holdfast.New(goredisstore.New(rdb), nil)
	defer client.Close()

	err := holdfast.Do(context.Background(), client.Mutex("invoice:42"),
		func(ctx context.Context, lease *holdfast.Lease) error {
			return charge(ctx, lease.Token())
		})
	if err != nil {
		log.Print(err)
	}
}

// A client of the store's own, made from a URL.
func ExampleOpen() {
	store, err := goredisstore.Open("cluster://10.0.0.1:6379,10.0.0.2:6379", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	client := holdfast.New(store, &holdfast.Options{TTL: 5 * time.Second})
	defer client.Close()
}

// A password that is read again for each new connection.
func ExampleOptions() {
	store, err := goredisstore.Open("rediss://cache.example.com:6379", &goredisstore.Options{
		Adjust: func(o *redis.UniversalOptions) {
			o.CredentialsProvider = func() (username, password string) { return "locks", freshPassword() }
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}

func freshPassword() string { return "" } // from the vault of the program

func charge(context.Context, int64) error { return nil } // the work
