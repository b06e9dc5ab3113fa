"""Processors of the user at work, in a process beside each worker: there they may fail, hang, leak or crash."""
