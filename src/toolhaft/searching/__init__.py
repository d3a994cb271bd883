"""Searching: pure engines over callables that the workspace hands in; nothing here opens a file or starts a process."""
