"""What tests share: a deterministic random source, and statistical tests at a fixed false-alarm rate."""
