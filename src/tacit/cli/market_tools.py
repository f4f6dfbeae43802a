"""`tacit market tools`: the calls of an agent as tools of the Model Context Protocol, over standard input and output.

A model's program starts this as a server of its own and speaks JSON-RPC, a message in each line. The tools and their
schemas are the service's (`GET /v1/market-tools`), and so is what they may do: that of the token.
"""

import json
import os
import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from tacit.base import InputError, TacitError
from tacit.client.door import Address, HttpDoor

__all__ = ["serve_tools"]

PROTOCOL = "2025-06-18"
CALLS = {
    "list_markets": ("GET", ""),
    "read_market": ("GET", "/{dataset}/{market}"),
    "submit_report": ("PUT", "/{dataset}/{market}/report"),
    "read_advice": ("GET", "/{dataset}/{market}/advice"),
}


def serve_tools(
    url: Annotated[str, typer.Option("--url", help="Where the service is.", show_default=False)],
    token: Annotated[
        str, typer.Option("--token-variable", help="The variable that holds the agent's token.")
    ] = "TACIT_TOKEN",
) -> None:
    """Let a language model take part in markets: a server of MCP tools, which its program starts and speaks to.

    Example: TACIT_TOKEN=… tacit market tools --url https://tacit.example.org
    """
    if not os.environ.get(token):
        raise InputError(f"${token} is not set: it must hold the agent's token")
    door = HttpDoor(Address.read(url), os.environ[token], timeout=60, authority=None)
    for line in sys.stdin:
        answer = answered(door, line)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def answered(door: HttpDoor, line: str) -> dict[str, Any] | None:
    """The answer to one message; None to one that wants none."""
    try:
        message = json.loads(line)
        method, number = message["method"], message.get("id")
    except (ValueError, KeyError, TypeError, AttributeError):
        return _error(None, -32700, "this is no message of JSON-RPC")
    if number is None:
        return None
    try:
        if method == "initialize":
            about = {"name": "tacit-markets", "version": "1"}
            result: Any = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            result = json.loads(door.call("GET", "/v1/market-tools").body)
        elif method == "tools/call":
            result = _called(door, message.get("params") or {})
        else:
            return _error(number, -32601, "there is no such method here")
    except (TacitError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = str(error) if isinstance(error, TacitError) else "its parameters are not as its schema says"
        return _error(number, -32602, told)
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _called(door: HttpDoor, params: Any) -> dict[str, Any]:
    method, path = CALLS[params["name"]]
    given = dict(params.get("arguments") or {})
    body = json.dumps({"report": given.pop("report")}).encode() if method == "PUT" else None
    place = path.format(**{name: quote(str(value), safe="") for name, value in given.items()})
    reply = door.call(method, f"/v1/markets{place}", body=body)
    text = door.hidden(reply.body.decode())
    return {"content": [{"type": "text", "text": text}], "isError": reply.status >= 400}


def _error(number: Any, code: int, words: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": words}}
