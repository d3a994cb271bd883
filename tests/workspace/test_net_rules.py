"""Which URLs may be asked, and at which addresses."""

import httpx2
import pytest

from tests.http_servers import Names
from toolhaft.workspace import LocalWorkspace, NetworkRules, use_workspace, workspace
from toolhaft.workspace.net_errors import AddressRefusedError, FetchError
from toolhaft.workspace.net_rules import check_url, resolve_host

PUBLIC = ["93.184.216.34", "2606:2800:220:1::"]


async def addresses(url: str, *allowed: str, **names: list[list[str]]) -> list[str]:
    rules = NetworkRules(allowed_hosts=allowed, resolve=Names(**names))
    return [str(address) for address in await rules.addresses(httpx2.URL(url))]


async def test_a_public_host_is_reached_at_all_of_its_addresses() -> None:
    assert await addresses("https://example.com/x", example_com=[PUBLIC]) == PUBLIC


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.1/", "http://[::1]:80/",
     "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://100.64.0.1/", "http://169.254.169.254/latest",
     "http://0/", "http://127.0.0.1./", "http://127。0。0。1/", "http://[fe80::1%25eth0]/"],
)  # fmt: skip
async def test_a_private_address_is_refused_however_it_is_written(url: str) -> None:
    with pytest.raises(AddressRefusedError, match="allowed_hosts"):
        await addresses(url)


@pytest.mark.parametrize("private", [["10.0.0.1"], [*PUBLIC, "::1"], ["fe80::1%eth0"]])
async def test_one_private_address_of_a_host_refuses_all(private: list[str]) -> None:
    with pytest.raises(AddressRefusedError, match="'mixed.test' has an address that is"):
        await addresses("http://mixed.test", mixed_test=[private])


@pytest.mark.parametrize("allowed", ["inner.test", "INNER.test.", "inner.test:80"])
async def test_a_host_allowed_by_name_may_have_a_private_address(allowed: str) -> None:
    assert await addresses("http://inner.test/", allowed, inner_test=[["10.0.0.1"]]) == ["10.0.0.1"]


@pytest.mark.parametrize("allowed", ["inner.test:8080", "other.test", "test"])
async def test_another_name_or_port_allows_nothing(allowed: str) -> None:
    with pytest.raises(AddressRefusedError):
        await addresses("http://inner.test/", allowed, inner_test=[["10.0.0.1"]])


@pytest.mark.parametrize(
    ("url", "allowed"),
    [("http://[::1]:8000/", "::1"), ("http://[::1]:8000/", "[::1]:8000"), ("http://2130706433/", "127.0.0.1")],
)
async def test_an_address_can_be_allowed(url: str, allowed: str) -> None:
    assert await addresses(url, allowed)


async def test_metadata_is_refused_even_where_a_name_for_it_is_allowed() -> None:
    with pytest.raises(AddressRefusedError, match="cloud metadata"):
        await addresses("http://meta.test", "meta.test", meta_test=[["169.254.169.254"]])

    assert await addresses("http://169.254.169.254", "169.254.169.254") == ["169.254.169.254"]


@pytest.mark.parametrize(
    ("url", "told"),
    [("file:///etc/passwd", "not http or https"), ("ftp://a/b", "not http or https"), ("http:///x", "names no host"),
     ("http://user:secret@example.com/", "a password in it"), ("http://example.1/", "looks like an address"),
     ("example.com", "not http or https")],
)  # fmt: skip
def test_a_url_that_cannot_be_meant_is_refused(url: str, told: str) -> None:
    with pytest.raises(AddressRefusedError, match=told) as caught:
        check_url(httpx2.URL(url))
    assert "secret" not in str(caught.value)


async def test_a_host_that_is_not_there_says_so() -> None:
    with pytest.raises(FetchError, match=r"'gone.test' was not found"):
        await addresses("http://gone.test")
    with pytest.raises(FetchError, match="has no address"):
        await addresses("http://empty.test", empty_test=[[]])
    with pytest.raises(FetchError, match="was not found"):
        await NetworkRules().addresses(httpx2.URL(f"http://{'a' * 70}.test/"))


async def test_the_system_knows_localhost() -> None:
    assert "127.0.0.1" in await resolve_host("localhost")

    with pytest.raises(AddressRefusedError, match="loopback"):
        await NetworkRules().addresses(httpx2.URL("http://localhost./"))


@pytest.mark.parametrize("host", ["", "http://a.test", "a.test/x", "*.test", "a@b", "a b", "example.1", "a:b"])
def test_an_allowed_host_that_is_none_is_an_error(host: str) -> None:
    with pytest.raises(ValueError, match="is no host"):
        NetworkRules(allowed_hosts=(host,))


def test_one_text_is_no_list_of_hosts() -> None:
    with pytest.raises(TypeError, match="is one text"):
        NetworkRules(allowed_hosts="example.com")  # pyright: ignore[reportArgumentType]


def test_more_hosts_leave_the_rules_as_they_were() -> None:
    rules = NetworkRules(allowed_hosts=("a.test",))

    assert rules.allowing(["b.test"]).allowed_hosts == ("a.test", "b.test")
    assert rules.allowed_hosts == ("a.test",)


def test_tools_see_the_rules_of_their_workspace(tmp_path: object) -> None:
    rules = NetworkRules(allowed_hosts=("a.test",))

    with use_workspace(LocalWorkspace(str(tmp_path), network=rules)):
        assert workspace().network_rules == rules
    assert workspace().network_rules == NetworkRules()
