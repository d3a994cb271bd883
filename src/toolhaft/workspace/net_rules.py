"""Where requests may go: to public addresses, and to hosts that somebody allowed by name."""

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address

import httpx2
from anyio import to_thread

from .net_addresses import Address, AddressError, is_metadata, why_not_public, written_address
from .net_errors import AddressRefusedError, FetchError

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Gives the addresses of a host; raises `OSError` where it has none."""

_PORTS = {"http": 80, "https": 443}


async def resolve_host(host: str) -> Sequence[str]:
    """The addresses of a host, in the order in which the system would try them."""

    def ask() -> list[str]:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(one[4][0]) for one in found))

    return await to_thread.run_sync(ask, abandon_on_cancel=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRules:
    """Which hosts tools may ask, and who knows their addresses.

    Args:
        allowed_hosts: Hosts (`docs.python.org`, `localhost:8000`, `[::1]`; without a port all of them) that are allowed
            by name: they may have private addresses, and `web_fetch` asks nobody about them. Cloud metadata stays
            refused unless its address itself is named.
        resolve: Gives the addresses of a host. It is asked once for each request, which then goes to no other.
    """

    allowed_hosts: tuple[str, ...] = ()
    resolve: Resolver = resolve_host

    def __post_init__(self) -> None:
        if isinstance(self.allowed_hosts, str):
            raise TypeError(f"allowed_hosts={self.allowed_hosts!r} is one text. Give a tuple of hosts.")
        object.__setattr__(self, "allowed_hosts", tuple(self.allowed_hosts))
        for host in self.allowed_hosts:
            _allowed(host)

    def allowing(self, hosts: Iterable[str]) -> "NetworkRules":
        """These rules, with more hosts allowed by name."""
        return replace(self, allowed_hosts=(*self.allowed_hosts, *hosts))

    def allows(self, url: httpx2.URL) -> bool:
        """Whether the host of a URL is allowed by name. Raises `AddressRefusedError` as `check_url` does."""
        host, port = check_url(url), url.port or _PORTS[url.scheme]
        return any(
            host == name and allowed_port in (None, port) for name, allowed_port in map(_allowed, self.allowed_hosts)
        )

    async def addresses(self, url: httpx2.URL) -> tuple[Address, ...]:
        """The addresses to which a request for a URL may go, in the order in which to try them.

        Raises `AddressRefusedError` if any address of its host is none.
        """
        is_allowed, host = self.allows(url), check_url(url)
        written = written_address(host)
        found = (written,) if written else await self._resolved(host)
        for address in found:
            why = why_not_public(address)
            if why and (not is_allowed or (is_metadata(address) and not written)):
                raise AddressRefusedError(
                    f"the host {host!r} has an address that is {why}, and requests go to public addresses only. "
                    "Use another URL; whoever set this up can add the host to allowed_hosts."
                )
        return found

    async def _resolved(self, host: str) -> tuple[Address, ...]:
        try:
            found = await self.resolve(host)
        except (OSError, UnicodeError) as error:
            raise FetchError(f"the host {host!r} was not found. Check its name.") from error
        if not found:
            raise FetchError(f"the host {host!r} has no address. Check its name.")
        return tuple(ip_address(address.partition("%")[0]) for address in found)


def check_url(url: httpx2.URL) -> str:
    """The host of a URL, as its name is compared; an address in its usual spelling.

    Raises `AddressRefusedError` for a URL that is not http or https, names no host, or has a password in it.
    """
    if url.scheme not in _PORTS:
        raise AddressRefusedError(f"the URL {str(url)[:200]!r} is not http or https. Use one that is.")
    if url.userinfo:
        raise AddressRefusedError(
            f"the URL for {url.host!r} has a user name or a password in it, which would show in logs. Leave them out."
        )
    host = _name(url.raw_host.decode())
    if not host:
        raise AddressRefusedError(f"the URL {str(url)[:200]!r} names no host. Use http://host/path.")
    return host


def _name(host: str) -> str:
    """A host as names are compared."""
    try:
        return str(written_address(host) or host.rstrip(".").lower())
    except AddressError as error:
        raise AddressRefusedError(str(error)) from error


def _allowed(host: str) -> tuple[str, int | None]:
    """The name and the port of one entry of `allowed_hosts`."""
    bare = host if host.count(":") < 2 or host.startswith("[") else f"[{host}]"
    try:
        url = httpx2.URL(f"any://{bare}")
        name, rest = _name(url.raw_host.decode()), (url.userinfo, url.path.strip("/"), url.query, url.fragment)
    except (httpx2.InvalidURL, AddressRefusedError) as error:
        raise ValueError(f"allowed_hosts: {host!r} is no host ({error}). Write a name, or name:port.") from error
    if not name or any(rest) or set(name) & set("*%"):
        raise ValueError(f"allowed_hosts: {host!r} is no host. Write a name, or name:port, and no URL or pattern.")
    return name, url.port
