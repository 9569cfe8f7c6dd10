package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
)

type retrying struct{ handler }

// ConsumeClaim posts each record to the sink until that has taken it.
func (retrying) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			var o order
			if err := json.Unmarshal(m.Value, &o); err != nil {
				return err
			}
			for !posted(string(m.Value)) {
				select { // between two attempts only: a post that waits hears of no rebalance
				case <-s.Context().Done():
					return nil
				case <-time.After(500 * time.Millisecond):
				}
			}
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}

func posted(body string) bool {
	answer, err := http.Post(os.Getenv("KAFKA_CHAOS_SINK"), "application/json", strings.NewReader(body))
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode/100 == 2
}

// retry consumes with a retrying listener, and calls Consume again after an error.
func retry(config *sarama.Config) error {
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
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{os.Getenv("KAFKA_TOPIC")}, retrying{}); err != nil {
			log.Println("Consume:", err)
			time.Sleep(time.Second)
		}
	}
	return group.Close()
}
