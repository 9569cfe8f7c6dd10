// A consumer as franz-go's guide shows it: a group, the default autocommit, Close at the end.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

type order struct {
	ID int64 `json:"id"`
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	opts := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",")...),
		kgo.ClientID(os.Getenv("KAFKA_CLIENT_ID")),
		kgo.ConsumerGroup(os.Getenv("KAFKA_GROUP_ID")),
		kgo.ConsumeTopics(os.Getenv("KAFKA_TOPIC")),
		// The library's default, said because this program relies on it.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
	}
	if id := os.Getenv("KAFKA_GROUP_INSTANCE_ID"); id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.Close() // commits what was processed, and leaves the group

	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		for _, failed := range fetches.Errors() {
			return errors.Join(fmt.Errorf("%s/%d", failed.Topic, failed.Partition), failed.Err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			record := iter.Next()
			var o order
			if err := json.Unmarshal(record.Value, &o); err != nil {
				return fmt.Errorf("partition %d, offset %d: %w", record.Partition, record.Offset, err)
			}
			fmt.Printf("done id=%d\n", o.ID) // not buffered
		}
	}
}
