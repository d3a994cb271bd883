"""The doors through which tools are called: agents, programs.

`toolset` is the leaf, the one place where a call becomes a call of a tool; `toolkit` offers it to an agent with a
workspace, as one capability; `executor` drives it without a model.
"""
