"""Everything of the curator's and of the lab, as one router."""

from fastapi import APIRouter

from tacit.server import api_curate, api_curate_ledger, api_curate_requests
from tacit.server.console import curator, lab

__all__ = ["router"]

router = APIRouter()
for part in (api_curate, api_curate_ledger, api_curate_requests, curator, lab):
    router.include_router(part.router)
