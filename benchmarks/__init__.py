"""Speed and memory, as ratios to a floor and to peers that run in the same process on the same bytes."""
