// A consumer as kafka-go's README shows it: a Reader in a group, ReadMessage, which commits by
// itself, and Close when a signal comes. With the argument "explicit" it commits what it processed.
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
	"time"

	"github.com/segmentio/kafka-go"
)

type order struct {
	ID int64 `json:"id"`
}

func main() {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:  strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ","),
		GroupID:  os.Getenv("KAFKA_GROUP_ID"),
		Topic:    os.Getenv("KAFKA_TOPIC"),
		MaxBytes: 10e6, // 10MB
		// The library's default dialer, with a client id.
		Dialer: &kafka.Dialer{
			ClientID:  os.Getenv("KAFKA_CLIENT_ID"),
			Timeout:   10 * time.Second,
			DualStack: true,
		},
		ErrorLogger: kafka.LoggerFunc(log.Printf),
	})
	// Close alone can leave a ReadMessage waiting that is about to commit, so the context ends too.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	err := consume(ctx, reader, len(os.Args) > 1 && os.Args[1] == "explicit")
	if ctx.Err() != nil {
		err = nil // a signal, and no failure
	}
	if err := errors.Join(err, reader.Close()); err != nil {
		log.Fatal(err)
	}
}

func consume(ctx context.Context, reader *kafka.Reader, explicit bool) error {
	next := reader.ReadMessage
	if explicit {
		next = reader.FetchMessage
	}
	for {
		m, err := next(ctx)
		if err != nil {
			return err
		}
		var o order
		if err := json.Unmarshal(m.Value, &o); err != nil {
			return fmt.Errorf("partition %d, offset %d: %s", m.Partition, m.Offset, err)
		}
		fmt.Printf("done id=%d\n", o.ID) // not buffered
		if explicit {
			if err := reader.CommitMessages(ctx, m); err != nil {
				return err
			}
		}
	}
}
