"""Which addresses are public, in whatever way they are written."""

from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.workspace.net_addresses import AddressError, is_metadata, why_not_public, written_address


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "0x7f000001", "0X7F000001", "2130706433", "0177.0.0.1", "0177.1", "0x7f.1", "127.0.0.1."],
)
def test_every_spelling_of_an_address_is_that_address(host: str) -> None:
    assert written_address(host) == IPv4Address("127.0.0.1")


@pytest.mark.parametrize(
    ("host", "address"), [("[::1]", "::1"), ("fe80::1%25eth0", "fe80::1"), ("::FFFF:1.2.3.4", "::ffff:1.2.3.4")]
)
def test_an_ipv6_address_is_known_without_brackets_and_zone(host: str, address: str) -> None:
    assert written_address(host) == ip_address(address)


@pytest.mark.parametrize("host", ["example.com", "localhost", "127.0.0.1.nip.io", "7.example", "a1", "0x7f.example"])
def test_a_name_is_no_address(host: str) -> None:
    assert written_address(host) is None


@pytest.mark.parametrize("host", ["1.2.3.4.5", "256.256.256.256", "0x", "example.1", "%31%32%37.0.0.1", "1..2"])
def test_what_ends_like_an_address_and_is_none_is_refused(host: str) -> None:
    with pytest.raises(AddressError, match="looks like an address"):
        written_address(host)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0", "unspecified"),
        ("10.1.2.3", "private"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("127.255.255.254", "loopback"),
        ("169.254.1.1", "link-local"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("192.0.2.1", "documentation"),
        ("198.18.0.1", "benchmarking"),
        ("224.0.0.251", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::7f00:1", "not on the public internet"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::192.168.1.1", "private"),
        ("64:ff9b:1::8.8.8.8", "not on the public internet"),
        ("2002:7f00:1::", "a tunnel (6to4)"),
        ("2001:0:1::1", "a tunnel (Teredo)"),
        ("2a00:1450::5efe:10.0.0.1", "private"),
        ("2a00:1450::200:5efe:127.0.0.1", "loopback"),
        ("fe80::1", "link-local"),
        ("fd12::1", "private"),
        ("fec0::1", "not on the public internet"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("5f00::1", "not on the public internet"),
    ],
)
def test_an_address_that_is_not_public_says_what_it_is(address: str, why: str) -> None:
    assert why_not_public(ip_address(address)) == why


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2a00:1450:4001::200e", "2606:4700::1111", "64:ff9b::8.8.8.8"]
)
def test_a_public_address_is_let_through(address: str) -> None:
    assert why_not_public(ip_address(address)) is None


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "2002:a9fe:a9fe::",
        "2a01:4f8:1::a9fe:a9fe",
        "2001:0:1:2::5601:5601",
    ],
)
def test_metadata_is_known_in_every_form(address: str) -> None:
    assert is_metadata(ip_address(address))
    assert why_not_public(ip_address(address)) == "an endpoint of cloud metadata"


IPV6 = st.one_of(
    st.integers(0, 2**128 - 1),
    *(
        st.integers(0, 2**size - 1).map(partial(int.__or__, int(IPv6Address(prefix))))
        for prefix, size in [
            ("::", 33), ("::ffff:0:0", 32), ("::ffff:0:0:0", 32), ("64:ff9b::", 32), ("64:ff9b:1::", 80),
            ("2001::", 108), ("2002::", 112), ("2a00::5efe:0:0", 32), ("fc00::", 121), ("fe80::", 118), ("100::", 65),
        ]
    ),
)  # fmt: skip


@given(st.one_of(st.integers(0, 2**32 - 1).map(IPv4Address), IPV6.map(IPv6Address)))
def test_what_pydantic_ai_refuses_is_refused(address: IPv4Address | IPv6Address) -> None:
    from pydantic_ai._ssrf import is_cloud_metadata_ip, is_private_ip

    if is_cloud_metadata_ip(str(address)):
        assert is_metadata(address)
    if is_private_ip(str(address)):
        assert why_not_public(address)


def test_the_networks_that_pydantic_ai_lists_are_refused() -> None:
    from pydantic_ai import _ssrf

    assert [net for net in _ssrf._PRIVATE_NETWORKS if not (why_not_public(net[0]) and why_not_public(net[-1]))] == []
    assert all(map(is_metadata, [*_ssrf._CLOUD_METADATA_IPV4, *_ssrf._CLOUD_METADATA_IPV6]))
