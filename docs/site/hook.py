"""What the site adds to the pages as they stand in the repository: the README in front, the API, and an order.

The pages are written to be read in the repository too, so they link to files beside `docs/`. Such a link leads to the
page of that file where the site has one, and is plain text where it has not.
"""

import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

__all__ = ["on_config", "on_files", "on_page_markdown"]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tacit"

# files of the repository that are pages of the site under another name
PAGES = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "RELEASING.md": "project/releasing.md",
    "bench/RESULTS.md": "project/measurements.md",
}
FOLDERS = {
    "Tutorials": "tutorial",
    "Gallery": "gallery",
    "Guides": "how-to",
    "The lab": "attacks",
    "Reference": "reference",
    "Theory": "theory",
    "Decisions": "decisions",
}
GUIDES = {
    "Start with your data": ("declare-a-dataset", "ask-duckdb", "ask-postgres", "ask-spark", "keep-the-ledger"),
    "Serve many analysts": (
        "run-the-service",
        "operate-the-service",
        "ask-in-the-browser",
        "curate-in-the-browser",
        "connect-with-psql",
        "connect-from-python",
        "connect-a-bi-tool",
        "choose-a-budget",
        "report-on-a-dataset",
        "upgrade",
    ),
    "Surveys and places": ("run-a-survey", "report-a-place"),
    "Learn": (
        "train-a-model",
        "train-a-classifier",
        "train-from-a-file",
        "train-in-the-browser",
        "train-together",
        "label-with-teachers",
        "report-by-group",
        "give-each-person-a-budget",
        "count-a-stream",
        "reuse-a-holdout",
        "account-for-training",
    ),
    "Synthetic tables and censuses": ("make-a-synthetic-table", "take-a-census"),
    "Markets and series": ("set-a-price", "match-goods-and-routes", "let-agents-take-part", "protect-a-series"),
    "Check": ("audit-a-mechanism", "check-a-certificate", "run-the-lab"),
    "Build on it": ("choose-the-noise", "which-accountant", "add-a-mechanism", "release-with-your-own-code"),
}
API = (
    *("session", "client", "policy", "ledger", "desk", "engine", "program", "loss", "mechanism", "noise", "survey"),
    *("place", "learn", "learn.estimator", "learn.federated", "synth", "census", "market", "pufferfish", "auditor"),
    *("attack", "base"),
)
# code, which is left alone, or a link: picture or not, text, target
LINK = re.compile(r"^```.*?^```$|(!?)\[((?:`[^`]*`|[^\[\]`])*)\]\(([^)\s]+)\)|`[^`\n]*`", re.MULTILINE | re.DOTALL)

# a list right under a paragraph, which the site's reader of Markdown wants a line apart
ITEM = r"(?:[-*]|\d+\.) "
LIST = re.compile(rf"(^```.*?^```$)|^(?![ \t|>#]|{ITEM})(\S[^\n]*)\n(?={ITEM})", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The pages in the order in which people need them."""
    docs = Path(config.docs_dir)
    nav: list[object] = [{"Home": "index.md"}, {"All pages by task": "contents.md"}]
    for title, folder in FOLDERS.items():
        found = sorted(path.relative_to(docs).as_posix() for path in (docs / folder).glob("*.md"))
        if folder == "how-to":
            listed = [f"how-to/{name}.md" for names in GUIDES.values() for name in names]
            if forgotten := sorted(set(found) - set(listed)):
                raise PluginError(f"docs/site/hook.py lists no group of guides for {', '.join(forgotten)}")
            groups = {group: [f"how-to/{name}.md" for name in names] for group, names in GUIDES.items()}
            nav.append({title: [{group: [page for page in pages if page in found]} for group, pages in groups.items()]})
        elif found:
            nav.append({title: list(found)})
        if folder == "reference":
            nav.append({"Python": [{f"tacit.{room}".rstrip("."): _api_page(room)} for room in ("", *API)]})
    nav.append({"Beyond one machine": "scale.md"})
    nav.append({"What it does not promise": ["sharp-edges.md", "threat-model.md"]})
    nav.append({"Project": [page for source, page in PAGES.items() if _is_project(page) and (ROOT / source).exists()]})
    config.nav = nav
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The pages that are not files of `docs/`, or have another name there."""
    own = files.get_file_from_path("README.md")
    if own is not None:
        files.remove(own)
    for source, page in PAGES.items():
        if (ROOT / source).exists():
            files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for room in ("", *API):
        files.append(File.generated(config, _api_page(room), content=_api(room)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them, outside code."""
    here = page.file.src_uri
    sources = {site: source for source, site in PAGES.items()}
    folder = PurePosixPath(sources.get(here, f"docs/{here}")).parent
    spaced = LIST.sub(lambda found: found[1] or f"{found[2]}\n\n", markdown)
    return LINK.sub(lambda found: found[0] if found[3] is None else _link(found, folder, here), spaced)


def _link(link: re.Match[str], folder: PurePosixPath, here: str) -> str:
    picture, text, target = link.groups()
    if "://" in target or target.startswith(("#", "mailto:")):
        return link[0]
    place, _, anchor = target.partition("#")
    named = _plain(folder / place)
    if (ROOT / named).is_dir():
        first = sorted((ROOT / named).glob("*.md"))
        named = first[0].relative_to(ROOT).as_posix() if first else named
    site = PAGES.get(named, named.removeprefix("docs/") if named.startswith("docs/") else "")
    if not site:
        return text if text.startswith("`") else f"{text} (`{named}`)"
    up = "../" * (len(PurePosixPath(here).parts) - 1)
    return f"{picture}[{text}]({up}{site}{'#' + anchor if anchor else ''})"


def _plain(path: PurePosixPath) -> str:
    """The path without `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _is_project(page: str) -> bool:
    return page.startswith("project/")


def _api_page(room: str) -> str:
    return f"api/{room or 'tacit'}.md"


def _api(room: str) -> str:
    name = f"tacit.{room}" if room else "tacit"
    return f"# {name}\n\n::: {name}\n    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
