package driver_test

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/driver"
)

// A connection tells its Receiver what the server sends.
func ExampleChannels() {
	var channels driver.Channels // a field of the Store
	defer channels.Close()
	connect := func(r *driver.Receiver) driver.ChannelConn { return &Conn{receiver: r} }
	heard := make(chan string)
	_, err := channels.Subscribe(context.Background(), "localhost:6379", connect, "news", func(payload string) { heard <- payload })
	fmt.Println(<-heard, err)
	// Output: hello <nil>
}

// Conn stands for a connection to a server that says hello to each subscriber.
type Conn struct{ receiver *driver.Receiver }

func (c *Conn) Request(channel string, end bool, answered func(error)) {
	go func() {
		if end {
			c.receiver.Ended(channel)
			answered(nil)
			return
		}
		c.receiver.Confirmed(channel)
		answered(nil)
		c.receiver.Message(channel, "hello")
	}()
}

func (c *Conn) Close() {}
