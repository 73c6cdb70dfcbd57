"""The backend on NATS JetStream: open it with `coordination.jetstream.store.open_jetstream`."""
