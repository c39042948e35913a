"""Links between the pages of this tree lead somewhere, and docs/README.md leads to every page.

    links_test.py ROOT
"""

import os
import re
import sys
import unittest

ROOT = sys.argv[1]
LEFT_OUT = {"build", "node_modules", "dist"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        yield from (os.path.join(folder, name) for name in files if name.endswith(".md"))


def prose_of(path):
    """Without code, which may have brackets of its own."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: "" if "](" in code[0] else code[0], text)


def anchors_of(path):
    """As GitHub makes them: lower case, without punctuation, hyphens for spaces, numbered when repeated."""
    anchors = {}
    for heading in re.findall(r"^#+ +(.*)$", prose_of(path), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        anchors[anchor] = anchors.get(anchor, -1) + 1
        if anchors[anchor]:
            anchors[f"{anchor}-{anchors[anchor]}"] = 0
    return anchors


def links_of(path):
    for target in LINK.findall(prose_of(path)):
        if not re.match(r"[a-z]+:", target):
            yield target


def target_of(path, link):
    name = link.partition("#")[0]
    return os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path


class LinksTest(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in pages():
            for link in links_of(path):
                with self.subTest(page=os.path.relpath(path, ROOT), link=link):
                    target, anchor = target_of(path, link), link.partition("#")[2]
                    self.assertTrue(os.path.exists(target), "there is no such file")
                    if anchor and target.endswith(".md"):
                        self.assertIn(anchor, anchors_of(target), "there is no such heading")

    def test_the_index_leads_to_every_page(self):
        docs = os.path.join(ROOT, "docs")
        index = os.path.join(docs, "README.md")
        linked = {target_of(index, link) for link in links_of(index)}
        there = {os.path.join(docs, name) for name in os.listdir(docs) if name.endswith(".md")} - {index}
        self.assertEqual(there - linked, set(), "pages that docs/README.md does not link")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
