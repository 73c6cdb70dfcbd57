import base64
from datetime import timedelta
from pathlib import Path

import pytest

from crewlet_site import bootstrap
from crewlet_site.errors import StartRefused

KEY = base64.b64encode(b"k" * 32).decode()


def read(tmp_path: Path, text: str, **environ: str) -> bootstrap.Bootstrap:
    path = tmp_path / "node.yaml"
    path.write_text(text, encoding="utf-8")
    return bootstrap.read(path, environ)


def refusal(tmp_path: Path, text: str, **environ: str) -> str:
    with pytest.raises(StartRefused) as refused:
        read(tmp_path, text, **environ)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence.removeprefix(f"{tmp_path / 'node.yaml'}, ")


def test_without_a_file_a_node_is_single_and_embedded() -> None:
    nothing = bootstrap.read(None, {})
    assert nothing.stream.is_embedded
    assert nothing.coordination_type == "local"
    assert nothing.lease_ttl == timedelta(seconds=45)
    assert nothing.roles == ("data", "ingress", "seats", "workers")


def test_an_empty_file_says_the_same_as_none(tmp_path: Path) -> None:
    empty = read(tmp_path, "# nothing yet\n")
    assert empty.stream == bootstrap.Stream()


def test_every_key_of_a_node_is_read(tmp_path: Path) -> None:
    text = f"""
node:
  id: core-1
  roles: [seats, data]
  labels: {{gpu: l40s, " zone ": eu}}
  max_concurrent: 8
stream: {{store_dir: broker-data}}
coordination: {{type: embedded-kv, lease_ttl_seconds: 9}}
secrets:
  active_key_id: k2
  keys: [{{id: k1, material: {KEY}}}, {{id: k2, material: "${{KEY_TWO}}"}}]
api: {{host: 127.0.0.1, port: 8080}}
logging: {{level: debug, format: json}}
"""
    node = read(tmp_path, text, KEY_TWO=KEY)
    assert (node.node_id, node.roles, node.max_concurrent) == ("core-1", ("data", "seats"), 8)
    assert node.labels == {"gpu": "l40s", "zone": "eu"}
    assert node.stream.store_dir == tmp_path / "broker-data"
    assert (node.coordination_type, node.lease_ttl) == ("embedded-kv", timedelta(seconds=9))
    assert (node.active_key_id, sorted(node.keys)) == ("k2", ["k1", "k2"])
    assert (node.api_host, node.api_port) == ("127.0.0.1", 8080)
    assert (node.log_level, node.log_format) == ("debug", "json")


def test_an_external_broker_is_read_with_its_sign_in(tmp_path: Path) -> None:
    text = """
stream:
  type: nats
  url: nats://broker.internal
  credentials: {user: crewlet, password: "${BROKER_PASSWORD}"}
  replicas: 3
"""
    node = read(tmp_path, text, BROKER_PASSWORD="pa$${ss")
    assert node.stream.url == "nats://broker.internal:4222"
    assert (node.stream.user, node.stream.password) == ("crewlet", "pa$${ss")
    assert node.coordination_type == "embedded-kv"
    assert "pa$${ss" not in repr(node)


def test_an_empty_store_directory_keeps_nothing_and_an_absent_one_keeps_all(
    tmp_path: Path,
) -> None:
    assert read(tmp_path, "stream: {store_dir: ''}").stream.keeps_nothing
    assert not read(tmp_path, "stream: {}").stream.keeps_nothing


@pytest.mark.parametrize(
    ("text", "begins", "contains"),
    [
        ("node:\n  idd: x\n", "line 2: node.idd", "did you mean node.id"),
        ("nodes: {}\n", "line 1: nodes", "not a key"),
        ("node:\n  id: a\n  id: b\n", "line 3: node.id", "first on line 2"),
        ("node: {id: '-a'}\n", "line 1: node.id", "letters"),
        ("node: {roles: [data, chef]}\n", "line 1: node.roles", "chef"),
        ("node: {roles: [data, data]}\n", "line 1: node.roles", "different"),
        ("node: {roles: [workers]}\n", "line 1: node.roles", "without data"),
        ("node: {labels: {'a b': c}}\n", "line 1: node.labels", "spaces"),
        ("node: {max_concurrent: -1}\n", "line 1: node.max_concurrent", "0 to"),
        ("node: [a]\n", "line 1: node", "block of keys"),
        ("- a\n", "line 1", "block of keys"),
        ("node: {id: a\n", "line 2", "not YAML"),
        ("stream: {type: kafka}\n", "line 1: stream.type", "embedded, nats"),
        ("stream: {type: nats}\n", "line 1: stream.type", "stream.url"),
        ("stream: {url: 'nats://a'}\n", "line 1: stream.url", "type: nats"),
        ("stream:\n  replicas: 3\n", "line 2: stream.replicas", "no peers"),
        ("stream: {sync: 1m}\n", "line 1: stream.sync", "always"),
        ("stream: {type: nats, url: 'http://a'}\n", "line 1: stream.url", "nats://host:port"),
        ("stream: {type: nats, url: 'nats://u:p@a'}\n", "line 1: stream.url", "without a user"),
        (
            "stream: {type: nats, url: 'nats://a', store_dir: x}\n",
            "line 1: stream.store_dir",
            "external",
        ),
        (
            "stream: {type: nats, url: 'nats://a'}\ncoordination: {type: local}\n",
            "line 2: coordination.type",
            "other nodes",
        ),
        ("coordination: {lease_ttl_seconds: 1}\n", "line 1: coordination.lease_ttl", "3 to"),
        ("secrets: {active_key_id: k1}\n", "line 1: secrets.active_key_id", "names no key"),
        (
            "secrets: {keys: [{id: k1, material: eA==}]}\n",
            "line 1: secrets.keys",
            "holds 1 bytes, not 32",
        ),
        ("api: {port: 0}\n", "line 1: api.port", "1 to 65535"),
        ("node: {id: '${NOPE}'}\n", "line 1: node.id", "NOPE, which is unset"),
    ],
)
def test_a_fault_is_named_with_its_line_and_path(
    tmp_path: Path, text: str, begins: str, contains: str
) -> None:
    sentence = refusal(tmp_path, text)
    assert sentence.startswith(begins), sentence
    assert contains in sentence


def test_a_value_from_the_environment_cannot_grow_into_structure(tmp_path: Path) -> None:
    assert "node.id" in refusal(tmp_path, "node: {id: '${ID}'}", ID="a}\nstream: {type: nats")


def test_a_secret_is_not_repeated_in_a_refusal(tmp_path: Path) -> None:
    text = "secrets: {active_key_id: k1, keys: [{id: k1, material: '${KEY}'}]}"
    assert "hunter2" not in refusal(tmp_path, text, KEY="hunter2")


def test_a_missing_file_is_told_with_the_variable_that_named_it(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="CREWLET_CONFIG"):
        bootstrap.read(tmp_path / "none.yaml", {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node: &all\n  labels: *all\n", "line 2 has an alias (*)"),
        ("stream: {? [a] : b}\n", "line 1: stream has a key that is no word."),
        ("node:\n  labels: {? {a: b} : c}\n", "line 2: node.labels has a key that is no word."),
        ("node: " + "[" * 600 + "]" * 600, "line 1 is nested too deeply."),
    ],
)
def test_yaml_that_no_key_can_mean_is_refused_in_a_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    assert refusal(tmp_path, text).startswith(sentence)
