// A consumer as Sarama's consumergroup example shows it: Consume in a loop, since it returns at every
// rebalance, MarkMessage after each record, and on a signal the context is cancelled before Close.
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
			fmt.Printf("done id=%d\n", o.ID) // not buffered
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
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
	if len(os.Args) > 1 { // "retry"
		return retry(config)
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
		if err := group.Consume(ctx, []string{os.Getenv("KAFKA_TOPIC")}, handler{fail}); err != nil {
			fail(err)
		}
	}
	if told.Err() != nil {
		return group.Close()
	}
	return errors.Join(context.Cause(ctx), group.Close())
}
