// A consumer as Sarama's consumergroup example shows it: Consume in a loop, MarkMessage after each
// record, and on a signal the context is cancelled before the group is closed. With the argument
// `retry` it posts each record to the sink until that has taken it, and calls Consume again after an
// error; READ_TIMEOUT is how long it waits for an answer of a broker, 30 s by default.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
)

type order struct {
	ID int64 `json:"id"`
}

type handler struct{ fail context.CancelCauseFunc }

func (handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			var o order
			if err := json.Unmarshal(m.Value, &o); err != nil {
				h.fail(fmt.Errorf("partition %d, offset %d: %w", m.Partition, m.Offset, err))
				return err
			}
			if len(os.Args) == 1 {
				fmt.Printf("done id=%d\n", o.ID) // not buffered
			} else if !deliver(s.Context(), string(m.Value)) {
				return nil
			}
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

// The session's end is looked at only between two attempts, as in a listener that retries inline.
func deliver(session context.Context, body string) bool {
	for {
		answer, err := http.Post(os.Getenv("KAFKA_CHAOS_SINK"), "application/json", strings.NewReader(body))
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode/100 == 2 {
				return true
			}
		}
		select {
		case <-session.Done():
			return false
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	config := sarama.NewConfig()
	config.ClientID = os.Getenv("KAFKA_CLIENT_ID")
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.InstanceId = os.Getenv("KAFKA_GROUP_INSTANCE_ID")
	if text := os.Getenv("READ_TIMEOUT"); text != "" {
		timeout, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		config.Net.ReadTimeout = timeout
	}
	brokers := strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",")
	group, err := sarama.NewConsumerGroup(brokers, os.Getenv("KAFKA_GROUP_ID"), config)
	if err != nil {
		return err
	}
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, fail := context.WithCancelCause(told)
	defer fail(nil)
	for ctx.Err() == nil {
		// It returns at every rebalance, and is called again for the new claims.
		if err := group.Consume(ctx, []string{os.Getenv("KAFKA_TOPIC")}, handler{fail}); err != nil {
			if len(os.Args) == 1 {
				fail(err)
			}
			log.Println("Consume:", err)
			time.Sleep(time.Second)
		}
	}
	err = group.Close()
	if told.Err() == nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return err
}
