"""Which addresses a request may go to: those of the public internet, however they are written.

What is public is listed, and not what is private: of IPv6 only 2000::/3 is, less what is set apart in it. An address
that carries another one inside (mapped, NAT64, ISATAP) is judged as both. Sources: IANA's registries of IPv4 and IPv6
special-purpose addresses; the endpoints of metadata are those that pydantic-ai refuses.
"""

import re
import socket
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

_METADATA = "an endpoint of cloud metadata"

# The first that matches names the reason.
_SET_APART: tuple[tuple[str, str], ...] = (
    ("169.254.169.254/32", _METADATA),  # AWS, Google, Azure and most others
    ("169.254.170.2/32", _METADATA),  # AWS ECS
    ("169.254.170.23/32", _METADATA),  # AWS EKS
    ("169.254.42.42/32", _METADATA),  # Scaleway
    ("169.254.0.23/32", _METADATA),  # Tencent
    ("168.63.129.16/32", _METADATA),  # Azure WireServer, in the middle of public addresses
    ("100.100.100.200/32", _METADATA),  # Alibaba
    ("192.0.0.192/32", _METADATA),  # Oracle
    ("fd00:ec2::254/128", _METADATA),  # AWS
    ("fd00:ec2::23/128", _METADATA),  # AWS EKS
    ("fd20:ce::254/128", _METADATA),  # Google
    ("fd00:42::42/128", _METADATA),  # Scaleway
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "set apart for protocols"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "a relay of tunnels"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("ff00::/8", "multicast"),
    ("2001::/32", "a tunnel (Teredo)"),
    ("2001::/23", "set apart for protocols"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "a tunnel (6to4)"),
    ("3fff::/20", "documentation"),
)
# Where RFC 6052 and RFC 3056 put an IPv4 address into one of IPv6, for prefixes of all lengths.
_PLACES = (
    (2, 3, 4, 5),
    (4, 5, 6, 7),
    (5, 6, 7, 9),
    (6, 7, 9, 10),
    (7, 9, 10, 11),
    (9, 10, 11, 12),
    (12, 13, 14, 15),
)
_PUBLIC_IPV6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# An address of the form a.b.c.d in the last 32 bits, behind one of these in the 32 before (RFC 5214).
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
_LAST_LABEL_OF_AN_ADDRESS = re.compile(r"(?:\d+|0x[0-9a-f]*)", re.IGNORECASE)


class AddressError(ValueError):
    """A host's name looks like an address and is none."""


def written_address(host: str) -> Address | None:
    """The address that a host's name is, in any spelling that resolvers know, or None for the name of a host.

    `0x7f000001`, `2130706433`, `0177.1` and `127.1` are all 127.0.0.1. Raises `AddressError` for what ends like an
    address and is none: what a resolver would make of it is anybody's guess.
    """
    host = host.strip("[]").rstrip(".")
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        if not _LAST_LABEL_OF_AN_ADDRESS.fullmatch(host.rpartition(".")[2]):
            return None
    else:
        return address
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError as error:
        raise AddressError(f"the host {host!r} looks like an address and is none. Use a name, or 1.2.3.4.") from error


def why_not_public(address: Address) -> str | None:
    """What an address is, in words, where a request may not go to it; None for a public one."""
    if is_metadata(address):
        return _METADATA
    return next((why for one in _meant(address) if (why := _set_apart(one))), None)


def is_metadata(address: Address) -> bool:
    """Whether an address, or one inside it, is where a cloud tells its machines their secrets.

    Wherever one may stand inside: the prefix of a NAT64 is its operator's to choose, and nothing else looks so.
    """
    inside: list[Address] = [address]
    if isinstance(address, IPv6Address):
        inside += [IPv4Address(bytes(address.packed[place] for place in places)) for places in _PLACES]
        inside += address.teredo or ()
    return any(_set_apart(one) == _METADATA for one in inside)


def _meant(address: Address) -> list[Address]:
    """The addresses that one leads to: what it carries inside, and itself, where it is not only a form of the other."""
    if isinstance(address, IPv4Address):
        return [address]
    high, inner = int(address) >> 32, IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.ipv4_mapped or address in _NAT64:
        return [inner]
    return [inner, address] if high & 0xFFFF_FFFF in _ISATAP else [address]


def _set_apart(address: Address) -> str | None:
    for network, why in _networks():
        if address.version == network.version and address in network:
            return why
    is_public = isinstance(address, IPv4Address) or address in _PUBLIC_IPV6
    return None if is_public else "not on the public internet"


@cache
def _networks() -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    return tuple((ip_network(network), why) for network, why in _SET_APART)
