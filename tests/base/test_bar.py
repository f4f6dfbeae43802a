"""A bar for whoever waits: on a terminal, after a while, and never for a file."""

from time import sleep

import pytest

from tacit.base.bar import progress_bar


def test_a_long_job_has_a_bar_for_whoever_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bar("asking", after=0) as told:
        told(0.5)
        sleep(0.2)
    assert not capsys.readouterr().err  # nobody watches a file
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("asking"):
        pass
    assert not capsys.readouterr().err  # a short query has nothing to tell
    with progress_bar("asking", after=0) as told:  # an engine need not tell anything
        told(0.2)
        text = ""
        for _ in range(200):
            sleep(0.05)
            text += capsys.readouterr().err
            if "asking" in text:
                break
    assert "asking" in text
