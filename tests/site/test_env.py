import pytest

from crewlet_site import env
from crewlet_site.errors import StartRefused


def test_nothing_set_means_the_home_beside_the_code_and_no_exposure() -> None:
    environment = env.read({})
    assert environment.home == env.ROOT / "var"
    assert environment.host is None
    assert environment.public_url is None
    assert environment.company == env.ROOT / "examples" / "company.yaml"


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("CREWLET_PORT", "0", "1 to 65535"),
        ("CREWLET_PORT", "65536", "1 to 65535"),
        ("CREWLET_PORT", "eight", "1 to 65535"),
        ("CREWLET_PORT", "9" * 5_000, "1 to 65535"),
        ("CREWLET_RELIST_SECONDS", "9" * 5_000, "1 to 86400"),
        ("CREWLET_PORT", "٨٠٠٠", "1 to 65535"),
        ("CREWLET_HOST", "example.org", "IP address"),
        ("CREWLET_HOST", "127.0.0.1:80", "IP address"),
        ("CREWLET_NODE_ID", "-core", "letters, digits"),
        ("CREWLET_NODE_ID", "a" * 65, "at most 64"),
        ("CREWLET_NODE_ID", "core 1", "letters, digits"),
        ("CREWLET_PUBLIC_URL", "crewlet.example.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "ftp://crewlet.example.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://crewlet.example.org/app", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://user@crewlet.example.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://crewlet.example.org:port", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://*", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://.example.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://two words", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://exam\nple.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://a_b.example.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://example.org\\x", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://example.org;", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://ex%41mple.org", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://b\u00fccher.example", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://example.org:0", "scheme and host"),
        ("CREWLET_PUBLIC_URL", "https://[v1.x]", "scheme and host"),
        ("CREWLET_ADMIN_USER", "ada", "both or neither"),
        ("CREWLET_ADMIN_PASSWORD", "secret", "both or neither"),
        ("CREWLET_DEBUG", "yes", "1 or 0"),
        ("CREWLET_RELIST_SECONDS", "0", "1 to 86400"),
        ("CREWLET_RELIST_SECONDS", "often", "1 to 86400"),
        ("CREWLET_HOME", "  ", "file system path"),
    ],
)
def test_an_odd_value_is_refused_in_one_sentence_that_names_its_variable(
    name: str, value: str, remedy: str
) -> None:
    with pytest.raises(StartRefused) as refusal:
        env.read({name: value})
    sentence = str(refusal.value)
    assert name in sentence
    assert remedy in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")


def test_an_admins_password_is_not_repeated_in_the_refusal() -> None:
    with pytest.raises(StartRefused) as refusal:
        env.read({"CREWLET_ADMIN_PASSWORD": "correct horse"})
    assert "correct horse" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "origin", "is_secure"),
    [
        ("https://crewlet.example.org", "https://crewlet.example.org", True),
        ("https://Crewlet.Example.org/", "https://crewlet.example.org", True),
        ("https://crewlet.example.org:443", "https://crewlet.example.org", True),
        ("http://10.0.0.5:8000", "http://10.0.0.5:8000", False),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443", True),
    ],
)
def test_a_public_url_becomes_the_origin_a_browser_sends(
    text: str, origin: str, is_secure: bool
) -> None:
    url = env.read({"CREWLET_PUBLIC_URL": text}).public_url
    assert url is not None
    assert (url.origin, url.is_secure) == (origin, is_secure)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3"])
def test_a_host_others_can_reach_needs_a_public_url(host: str) -> None:
    with pytest.raises(StartRefused, match="CREWLET_PUBLIC_URL"):
        env.judge_exposure(host, None)
    env.judge_exposure(host, env.read({"CREWLET_PUBLIC_URL": "https://a.example"}).public_url)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_loopback_host_needs_no_public_url(host: str) -> None:
    env.judge_exposure(host, None)


def test_a_client_reaches_a_server_that_listens_everywhere_over_loopback() -> None:
    assert env.reach_host("0.0.0.0") == "127.0.0.1"
    assert env.reach_host("::") == "[::1]"
    assert env.reach_host("10.1.2.3") == "10.1.2.3"
