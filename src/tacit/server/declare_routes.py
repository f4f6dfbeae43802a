"""Everything of the curator's, of the lab and of the surveys' pages in the console, as one router."""

from fastapi import APIRouter

from tacit.server import api_curate, api_curate_ledger, api_curate_requests
from tacit.server.console import curator, lab, surveys

__all__ = ["router"]

router = APIRouter()
for part in (api_curate, api_curate_ledger, api_curate_requests, curator, lab, surveys):
    router.include_router(part.router)
