"""The process that runs commands, so that nothing of them is left: not after the command, nor after us.

One small Python process for a workspace, without site-packages, which knows nothing else of this package:

```
host ── control socket ──► nursery ── fork ──► session ── spawn ──► bash, or bubblewrap ── bash
  └──────────────── one socket a command ─────────┘
```

The nursery keeps one session ready, so that a command does not wait for a fork. A session takes one command: it bounds
its output, its time and its number of processes, and as their subreaper it inherits every process the command
left anywhere, also one that called `setsid`. When the command ends, when its socket closes or when the host
dies, it kills all of them and only then ends itself.
"""
