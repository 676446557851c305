"""ETTh1: two years of an electricity transformer, hourly, by the protocol of published tables."""
