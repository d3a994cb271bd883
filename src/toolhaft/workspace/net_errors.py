"""Why there is no answer from the network: each a `FetchError` whose text says what, why, and what to do."""


class FetchError(Exception):
    """A request was not sent, or its answer did not arrive whole."""


class NoAnswerError(FetchError):
    """The connection was not made, or broke before the answer was whole. Another try may do better."""


class AddressRefusedError(FetchError):
    """A URL, or an address that its host has, is none that requests may go to."""


class RedirectError(FetchError):
    """A server sent the request on to somewhere it does not go, or without end."""


class FetchTimeoutError(FetchError, TimeoutError):
    """The whole of it took longer than it may."""


class ResponseTooLargeError(FetchError):
    """One answer has more bytes than one may have."""


class AggregateResponseSizeExceeded(FetchError):  # noqa: N818 - the name that such systems know it by
    """All answers under one `HttpLimits` would have more bytes together than they may."""
