"""A model's file says its ε, is read by safetensors itself, and `tacit verify` finds what was altered."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.learning import FEATURES, loop_of, policy_of, softmax_loss
from tacit.base import InputError
from tacit.cli.app import app
from tacit.learn import ModelFile, TableRows, Training
from tacit.learn.weights import arrays_from_bytes, arrays_to_bytes
from tacit.loss import cost
from tacit.loss.truncated import truncated_rho
from tacit.session import Session

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")


def trained_in(folder: Path, currency: str) -> Any:
    policy = policy_of(folder)
    policy.write_text(policy.read_text().replace('currency = "epsilon"', f'currency = "{currency}"'))
    rows = TableRows("points", features=FEATURES, label="kind")
    plan = Training(rows=rows, batch=100, population=600, steps=5, epsilon=1, delta=1e-5)
    net = torch.nn.Linear(3, 2)
    with Session(policy, "cora") as session:
        trained = plan.run(session, net, loss=softmax_loss, loop=loop_of(net))
        trained.save(folder / "model.safetensors", session=session)
        trained.save(folder / "bare.safetensors")
    return folder, net, trained


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return trained_in(tmp_path_factory.mktemp("model"), "epsilon")


def verified(*words: str) -> tuple[int, dict[str, Any]]:
    found = CliRunner().invoke(app, ["verify", *words, "--json"])
    return found.exit_code, {each["check"]: each["ok"] for each in json.loads(found.stdout)["checks"]}


def test_loading_says_what_it_promises(saved: Any) -> None:
    folder, net, trained = saved
    file = ModelFile.read(folder / "model.safetensors")
    assert (file.epsilon, file.delta) == (1.0, 1e-5)
    assert "ε = 1, δ = 1e-05 for one person" in repr(file)
    assert "with a certificate" in repr(file)
    assert file.content == trained.release.content
    again = torch.nn.Linear(3, 2)
    again.load_state_dict(file.tensors())
    assert (again.weight == net.weight).all()


def test_safetensors_reads_it(saved: Any) -> None:
    safetensors = pytest.importorskip("safetensors.torch", reason="comes with the extra learn")
    folder, net, _ = saved
    found = safetensors.load_file(folder / "model.safetensors")
    assert (found["weight"] == net.weight).all()
    tensors = {"x": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3), "e": torch.zeros(0, 4)}
    theirs = safetensors.save(tensors, {"a": "b"})
    arrays, metadata = arrays_from_bytes(theirs)
    assert metadata == {"a": "b"}
    assert (safetensors.load(arrays_to_bytes(arrays, metadata))["x"] == tensors["x"]).all()


def test_it_is_verified_with_its_ledger(saved: Any) -> None:
    folder, *_ = saved
    code, checks = verified(str(folder / "model.safetensors"), "--ledger", str(folder / "points.ledger"))
    assert code == 0
    assert {name for name, ok in checks.items() if ok is not True} == {"signature"}
    assert {"answer", "ledger", "model", "program", "cost"} <= set(checks)


def test_a_release_that_follows_curves_less_closely_still_believes_it(
    saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a per cent dearer by another accountant is believed, 5 % is not: of what is stated, and of what was paid."""
    paid_in_rho, *_ = trained_in(tmp_path, "rho")
    for dearer, believed in (("1.005", True), ("1.05", False)):
        factor = Fraction(dearer)
        monkeypatch.setattr(cost, "truncated_rho", lambda *told, by=factor: truncated_rho(*told) * by)
        for folder, in_rho in ((saved[0], False), (paid_in_rho, True)):
            _, checks = verified(str(folder / "model.safetensors"))
            assert checks["statements"] is believed
            assert checks["cost"] is (believed or not in_rho)


@pytest.mark.parametrize("what", ["weight", "epsilon"])
def test_what_was_altered_is_found(saved: Any, tmp_path: Path, what: str) -> None:
    folder, *_ = saved
    arrays, metadata = arrays_from_bytes((folder / "model.safetensors").read_bytes())
    if what == "weight":
        kind, shape, data = arrays["bias"]
        arrays["bias"] = (kind, shape, bytes([data[0] ^ 1]) + data[1:])
    else:
        about = json.loads(metadata["tacit"])
        about["plan"]["epsilon"] = "1/10"
        metadata["tacit"] = json.dumps(about)
    (tmp_path / "other.safetensors").write_bytes(arrays_to_bytes(arrays, metadata))
    code, checks = verified(str(tmp_path / "other.safetensors"))
    assert code == 1
    assert checks["answer"] is False
    assert checks["model"] is (what == "weight")


def test_a_file_without_a_certificate_says_so(saved: Any) -> None:
    found = CliRunner().invoke(app, ["verify", str(saved[0] / "bare.safetensors")])
    assert isinstance(found.exception, InputError)
    assert "no certificate in it" in str(found.exception)


@pytest.mark.parametrize(
    "data", [b"", b"\x00" * 7, b"\xff" * 40, (2).to_bytes(8, "little") + b"{}", (4).to_bytes(8, "little") + b"null"]
)
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="model"):
        ModelFile.from_bytes(data)
