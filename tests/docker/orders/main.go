// A consumer for the tests of images: alone in its image, and without a shell beside it.
//
// Its first word says what else it may be: "deaf" does not hear SIGTERM, "idle" asks no broker for
// anything, "print" prints so many lines and goes on, "end" ends at once with that exit code.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	number := 0
	if len(os.Args) > 2 {
		number, _ = strconv.Atoi(os.Args[2])
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch what := strings.Join(os.Args[1:min(2, len(os.Args))], ""); what {
	case "":
		if err := consume(ctx); err != nil {
			log.Fatal(err)
		}
	case "end":
		fmt.Println("there is nothing to do")
		os.Exit(number)
	case "deaf", "idle", "print":
		if what == "deaf" {
			signal.Ignore(syscall.SIGTERM)
		}
		for n := range number {
			fmt.Printf("done id=%d %s\n", n, strings.Repeat("x", n%300))
		}
		host, _ := os.Hostname()
		fmt.Printf("ready %s %s\n", host, os.Getenv("WHO"))
		for n := 0; ctx.Err() == nil; n++ {
			fmt.Printf("beat %d\n", n)
			time.Sleep(20 * time.Millisecond)
		}
	default:
		log.Fatalf("%q is nothing that it can be", what)
	}
}

func consume(ctx context.Context) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",")...),
		kgo.ConsumerGroup(os.Getenv("KAFKA_GROUP_ID")),
		kgo.ConsumeTopics(os.Getenv("KAFKA_TOPIC")),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6*time.Second),
		kgo.HeartbeatInterval(2*time.Second),
		kgo.AutoCommitInterval(500*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer client.Close() // commits what was processed, and leaves the group
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			var order struct{ ID int64 }
			if err := json.Unmarshal(iter.Next().Value, &order); err != nil {
				return err
			}
			fmt.Printf("done id=%d\n", order.ID)
		}
	}
}
