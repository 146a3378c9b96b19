"""Check the built pages: usage ``python docs/check_pages.py docs/_build/html``.

Said are, with the page: links that lead nowhere (a file or an anchor that is not there); names that
should be links and are none; sections *Source* and *Cost* that became parameters; public names
without a page, or more than two clicks from the landing page; pages that want something from the
network to be read. Exit code 1 if there is any.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# What a browser loads unasked when it shows a page.
LOADED = {("script", "src"), ("img", "src"), ("link", "href")}
NOTES = {"Source", "Cost", "**Source**", "**Cost**"}


class Page(HTMLParser):
    """What a page links to, which anchors it has, and what in it is not as it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.dead: list[str] = []
        self.bogus: list[str] = []
        self.open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name in ("src", "href"):
            if (tag, name) in LOADED and name in given and given.get("rel") != "canonical":
                self.loads.append(given[name])
        if tag not in ("br", "hr", "img", "input", "link", "meta"):
            self.open.append((tag, given.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text: str) -> None:
        words = text.strip()
        if not words:
            return
        tags = [tag for tag, _ in self.open]
        wanted = [kinds for tag, kinds in self.open if tag in ("code", "em") and "xref" in kinds]
        if wanted and "a" not in tags:
            self.dead.append(words)
        if "dt" in tags and words.split()[0] in NOTES:
            self.bogus.append(words)


def read_pages(folder: Path) -> dict[str, Page]:
    """Return all pages by their path within the folder."""
    return {
        path.relative_to(folder).as_posix(): Page(path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.html"))
        # The theme's own templates are copied among its files.
        if path.relative_to(folder).parts[0] != "_static"
    }


def target(page: str, link: str) -> tuple[str, str] | None:
    """Return the path and the anchor that a link within the pages means; None of other links."""
    if link.startswith(("http:", "https:", "mailto:", "data:", "javascript:")):
        return None
    path, anchor = urldefrag(unquote(link))
    # What follows a question mark tells a browser which version it has.
    path = path.partition("?")[0]
    parts = page.split("/")[:-1] if path else page.split("/")
    for part in path.split("/") if path else ():
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts = [*parts, part]
    return "/".join(parts), anchor


def within(pages: dict[str, Page], start: str, clicks: int) -> set[str]:
    """Return the pages that can be reached by so many clicks."""
    reached = new = {start}
    for _ in range(clicks):
        found = {t[0] for page in new for link in pages[page].links if (t := target(page, link))}
        new = (found & pages.keys()) - reached
        reached = reached | new
    return reached


def faults(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the pages of a folder, a line each."""
    from reference_pages import ROOMS, Room

    pages = read_pages(folder)
    for name, page in pages.items():
        for link in page.links + page.loads:
            found = target(name, link)
            if found is None:
                continue
            path, anchor = found
            if path not in pages and not (folder / path).exists():
                yield f"{name}: dead link {link}"
            elif anchor and path in pages and anchor not in pages[path].anchors:
                yield f"{name}: no such anchor {link}"
        yield from (f"{name}: dead name {word}" for word in page.dead)
        yield from (f"{name}: bogus parameter {word}" for word in page.bogus)
        yield from (f"{name}: from the network {u}" for u in page.loads if u.startswith("http"))
    near = within(pages, "index.html", 2)
    for room in ROOMS:
        for public in Room(room).offered:
            path = f"api/iirl_opt.{room}.{public}.html"
            if path not in pages:
                yield f"{path}: no page for a public name"
            elif path not in near:
                yield f"{path}: more than two clicks from the landing page"
            elif f"iirl_opt.{room}.{public}" not in pages[path].anchors:
                yield f"{path}: does not document the name"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0], "index.html").is_file():
        print("usage: python docs/check_pages.py FOLDER-OF-BUILT-PAGES", file=sys.stderr)
        return 2
    found = list(faults(Path(arguments[0])))
    print(
        "\n".join(found) or "no dead link, no dead name, no bogus parameter, nothing too far away"
    )
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
