"""From nothing to the first answer: `tacit serve` as a process of its own, the link it prints, and a browser."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import sleep

from playwright.sync_api import Browser, expect

from support.browser import PATIENCE

expect.set_options(timeout=PATIENCE)


def test_a_newcomer_gets_an_answer_with_three_clicks(chromium: Browser, tmp_path: Path) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    out = tmp_path / "out.txt"
    command = [sys.executable, "-m", "tacit", "serve", "--state", str(tmp_path / "state"), "--listen", address]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_SERVER_")}
    with out.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, cwd=tmp_path)
    try:
        while "tacit serves at" not in out.read_text():
            assert process.poll() is None, out.read_text()
            sleep(0.05)
        link = re.search(r"Sign in once, as admin: (\S+)", out.read_text())
        assert link is not None
        page = chromium.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(link[1])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="How many by ward?").click()
        page.get_by_role("button", name="Ask for").click()
        expect(page.locator("#answer").get_by_role("row")).to_have_count(5)
        expect(page.locator("#answer canvas")).to_be_visible()
        page.context.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert "ward" not in out.read_text()  # the log holds no question
