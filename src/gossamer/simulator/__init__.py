"""The simulated side of the web seam: a Web that answers under a virtual clock, with latency and faults."""
