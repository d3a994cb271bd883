"""What a search refuses: each error is a sentence that says what, why and what to do next."""


class SearchError(ValueError):
    """A search that cannot be made, or that failed before it could answer."""


class GlobError(SearchError):
    """A file pattern that has no meaning here."""


class EngineError(SearchError):
    """An engine that failed: no other pattern or path would help."""


class PatternError(SearchError):
    """A pattern that is no regular expression of the dialect, or that one of the engines could not answer."""
