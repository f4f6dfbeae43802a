"""Settings: from a file, from the environment, and what is refused."""

from pathlib import Path

import pytest

from tacit.base import InputError
from tacit.server.ops.config import Config

FILE = """\
datasets = ["clinic/tacit.toml", "/data/town/tacit.toml"]
listen = "127.0.0.1:9000"
state = "here"
rate = 5
grid = 0.5
"""


def test_a_file_and_above_it_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(FILE)
    found = Config.read(file, {})
    assert found.datasets == (tmp_path / "clinic/tacit.toml", Path("/data/town/tacit.toml"))
    assert (found.address, found.state, found.rate, found.padding) == (("127.0.0.1", 9000), tmp_path / "here", 5, 0.5)
    given = {"TACIT_SERVER_RATE": "7", "TACIT_SERVER_BEHIND_PROXY": "true", "TACIT_SERVER_LISTEN": "0.0.0.0:80"}
    found = Config.read(None, {**given, "TACIT_SERVER_CONFIG": str(file), "PATH": "x"})
    assert (found.rate, found.behind_proxy, found.address, found.grid) == (7, True, ("0.0.0.0", 80), 0.5)
    assert Config.read(None, found.environment()) == found


def test_what_is_set_where_nothing_is_said() -> None:
    found = Config.read(None, {})
    assert found.loopback
    assert found.padding == 0
    assert not found.secure
    for host in ("0.0.0.0", "127.0.0.1"):  # through a proxy on this machine, others come in
        assert Config(listen=f"{host}:1", behind_proxy=True).padding == 0.25
    assert Config(listen="[::1]:1").loopback
    assert Config(listen="localhost:1").loopback


def test_limits_of_questions(tmp_path: Path) -> None:
    usual = Config.read(None, {}).limits
    assert (usual.at_once, usual.seconds, usual.memory, usual.disk) == (4, 600, None, None)
    file = tmp_path / "server.toml"
    file.write_text('question_seconds = 30\nquestion_memory = "2GB"\nquestion_disk = 0\nquestions_at_once = 8\n')
    found = Config.read(file, {"TACIT_SERVER_QUESTION_MEMORY": "500MB"})
    assert (found.limits.at_once, found.limits.seconds, found.limits.disk) == (8, 30, 0)
    assert found.limits.memory == 500 << 20
    assert Config.read(None, found.environment()).limits == found.limits
    assert Config(workers=4).limits.bytes_of_memory < Config().limits.bytes_of_memory


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("question_seconds = 0", "seconds"),
        ("question_memory = 'much'", "is a size"),
        ("question_memory = 10", "at least 32 MB"),
        ("questions_at_once = 0", "questions can run at once"),
        ("dataset = []", "there is no setting"),
        ("datasets = 'x'", "a list of policies"),
        ("rate = true", "is not what this setting takes"),
        ("rate = 0", "at least 1"),
        ("rate = '5'", "is not what this setting takes"),
        ("listen = '8000'", "HOST:PORT"),
        ("listen = '127.0.0.1:99999'", "no port"),
        ("listen = '0.0.0.0:80'", "in the clear"),
        ("listen = 'example.org:80'", "in the clear"),
        ("certificate = 'x.pem'", "go together"),
        ("wire = '0.0.0.0:5432'", "wire: 0.0.0.0 can be reached"),
        ("wire = '0.0.0.0:5432'\nbehind_proxy = true", "wire: 0.0.0.0 can be reached"),
        ("grid = -1", "grid 0 to 60"),
        ("grid = nan", "grid 0 to 60"),
        ("behind_proxy = 1", "is not what this setting takes"),
        ("rate = ", "is not TOML"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=says):
        Config.read(file, {})


@pytest.mark.parametrize(
    ("name", "value"), [("RATES", "1"), ("RATE", "many"), ("BEHIND_PROXY", "perhaps"), ("GRID", "x")]
)
def test_variables_that_are_refused(name: str, value: str) -> None:
    with pytest.raises(InputError, match="TACIT_SERVER_"):
        Config.read(None, {f"TACIT_SERVER_{name}": value})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Config.read(tmp_path / "none.toml", {})


def test_what_the_console_may_declare(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('data = "data"\nsources = ["WAREHOUSE_URL"]\nledger = "${LEDGER_URL}"\nstate = "here"\n')
    found = Config.read(file, {})
    assert (found.data, found.sources, found.ledger) == (tmp_path / "data", ("WAREHOUSE_URL",), "${LEDGER_URL}")
    assert found.policy_folder == tmp_path / "here" / "policies"
    assert Config(policies=tmp_path).policy_folder == tmp_path
    again = Config.read(None, found.environment())
    assert (again.data, again.sources, again.policy_folder) == (found.data, found.sources, found.policy_folder)
    assert found.declares
    empty = Config(state=tmp_path)
    assert not empty.declares
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "shop.toml").write_text("")
    assert empty.declares
    for wrong in ('["a b"]', '["é"]', '"X"', "[1]", '[""]'):
        file.write_text(f"sources = {wrong}")
        with pytest.raises(InputError, match="environment variables"):
            Config.read(file, {})
