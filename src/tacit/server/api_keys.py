"""`/v1/keys`: what certificates of this service are signed with. Open to everybody, as a public key is."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from tacit.ledger.checkpoint import fingerprint
from tacit.server.identify import Serving

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["releases"])

KEYS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The public key, or none where certificates are not signed.",
        "content": {
            "application/json": {
                "example": {
                    "items": [
                        {
                            "id": "0123456789abcdef",
                            "algorithm": "Ed25519",
                            "public_key": "-----BEGIN PUBLIC KEY-----…",
                        }
                    ]
                }
            }
        },
    }
}


@router.get("/keys", responses=KEYS)
def keys(service: Serving) -> JSONResponse:
    """The public key that certificates are signed with; `id` begins the SHA-256 of its 32 bytes."""
    if service.signer is None:
        return JSONResponse({"items": []})
    public = service.signer.public_key
    return JSONResponse({"items": [{"id": fingerprint(public), "algorithm": "Ed25519", "public_key": public}]})
