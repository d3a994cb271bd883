"""What a shout ends with: the underscore says that this file is no tool."""

MARKS = {"glad": "!", "cross": "?!"}
