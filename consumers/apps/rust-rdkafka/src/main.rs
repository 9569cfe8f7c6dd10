//! A consumer as rust-rdkafka's examples show it: a StreamConsumer, `recv`, automatic commits.
//! Dropping it closes it. Arguments such as `enable.auto.offset.store=false` are more settings.

use std::env::{args, var};
use std::error::Error;

use log::warn;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::message::{BorrowedMessage, Message};
use tokio::signal::unix::{signal, SignalKind};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    env_logger::init_from_env(env_logger::Env::default().default_filter_or("info"));
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", var("KAFKA_BOOTSTRAP_SERVERS")?)
        .set("group.id", var("KAFKA_GROUP_ID")?)
        .set("client.id", var("KAFKA_CLIENT_ID")?)
        .set("auto.offset.reset", "earliest");
    if let Ok(id) = var("KAFKA_GROUP_INSTANCE_ID") {
        config.set("group.instance.id", id);
    }
    for argument in args().skip(1) {
        let (name, value) = argument
            .split_once('=')
            .ok_or("an argument is NAME=VALUE")?;
        config.set(name, value);
    }
    // Then only what this program says is done is committed, as in the example at_least_once.
    let stores = config.get("enable.auto.offset.store") == Some("false");
    let consumer: StreamConsumer = config.create()?;
    consumer.subscribe(&[&var("KAFKA_TOPIC")?])?;

    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            _ = terminated.recv() => return Ok(()),
            _ = interrupted.recv() => return Ok(()),
            received = consumer.recv() => match received {
                Err(error) => warn!("{error}"),
                Ok(message) => {
                    process(&message)?;
                    if stores {
                        consumer.store_offset_from_message(&message).unwrap_or_else(|e| warn!("{e}"));
                    }
                }
            },
        }
    }
}

fn process(message: &BorrowedMessage) -> Result<(), Box<dyn Error>> {
    let order: serde_json::Value = serde_json::from_slice(message.payload().unwrap_or_default())?;
    println!("done id={}", order["id"]); // ends with its line, and is flushed there
    Ok(())
}
