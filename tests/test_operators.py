"""What operators set: the addresses, a banner for a version that is kept, another host's script."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from sphinx.errors import ExtensionError

from tests.browser.axe import violations
from tests.site_pages import built_site
from tests.small_book import build_small_book, write_small_book
from tools import set_address
from tools.build_site import ROOT, toc_pages
from tools.fingerprint import html_pages
from tools.set_address import REPOSITORY, SITE, cleaned, update_citation
from tools.site_headers import content_policy
from tools.sphinx_banner import NOT_TO_BE_FOUND, banner

PAGE = (ROOT / "book" / "operators.md").read_text(encoding="utf-8")
WHERE = "https://git.example/a/course"
LIVE = "https://course.example/now/?a=1&b=2"
BANNER = re.compile(r"<aside[^>]*>\s*<div class=\"bd-header-announcement__content.*?</aside>", re.S)
TEXT = 'Kept <b>as it was</b> & "closed"'


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two pages with a banner, an address on a host of one's own, a script that counts visits."""
    root = tmp_path_factory.mktemp("kept")
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    config = re.sub(r"^html:\n", f"html:\n{counting()}", config, flags=re.M)
    write_small_book(root, config)
    set_address.write(root, REPOSITORY, WHERE)
    done = build_small_book(root, BANNER=TEXT, CURRENT=LIVE)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "_build" / "html"


def counting() -> str:
    """The lines that the operators' page says to put into _config.yml."""
    found = re.search(r"```yaml\nhtml:\n(  analytics:\n.*?)```", PAGE, re.S)
    return found[1]


# --- the banner -----------------------------------------------------------------------------------


def test_a_banner_heads_every_page_as_plain_text_with_a_link(kept):
    for path in [kept / "book/intro.html", kept / "book/more.html", kept / "search.html"]:
        text = path.read_text(encoding="utf-8")
        (found,) = BANNER.findall(text)
        assert 'aria-label="' in found
        assert "Kept &lt;b&gt;as it was&lt;/b&gt; &amp; &quot;closed&quot;" in found
        assert 'href="https://course.example/now/?a=1&amp;b=2"' in found
        assert NOT_TO_BE_FOUND in text.split("</head>")[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_banner_can_be_read_and_found_by_everybody(kept, browser, scheme):
    context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 600})
    context.route("https://**", lambda route: route.abort())
    page = context.new_page()
    page.goto((kept / "book" / "more.html").as_uri())
    page.get_by_role("complementary", name="Announcement").get_by_role("link").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page, ".bd-header-announcement") == []
    context.close()


def test_without_the_switch_there_is_no_banner_and_pages_may_be_found():
    switched = [bool(os.environ.get(name)) for name in ("BANNER", "CURRENT")]
    for page in toc_pages():
        text = (built_site() / f"{page}.html").read_text(encoding="utf-8")
        assert [bool(found) for found in (BANNER.search(text), NOT_TO_BE_FOUND in text)] == switched


def test_a_banner_without_a_link_and_no_banner_at_all():
    assert banner("Exam on Friday", "") == "<p>Exam on Friday</p>"
    assert banner("", "") == ""


@pytest.mark.parametrize("current", ["javascript:alert(1)", "course.example", "https://", "/now/"])
def test_a_link_that_is_no_whole_address_is_refused(current):
    with pytest.raises(ExtensionError, match="whole address"):
        banner("Kept", current)


def test_a_link_without_a_banner_is_refused():
    with pytest.raises(ExtensionError, match="set BANNER too"):
        banner("", LIVE)


# --- counting visits ------------------------------------------------------------------------------


def test_nothing_counts_visits_until_an_operator_says_so():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert "analytics" not in config["html"]
    assert config["sphinx"]["config"]["other_hosts"] == []


def test_a_script_that_counts_is_refused_by_the_policy_until_its_host_is_named(kept):
    (host,) = re.findall(r"other_hosts: \[(\S+)\]", PAGE)
    assert f'src="{host}/' in (kept / "book/intro.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(host)):
        content_policy(kept, [])
    assert f"connect-src 'self' {host};" in content_policy(kept, [host])


# --- the addresses --------------------------------------------------------------------------------


def test_the_repository_may_lie_on_any_host(kept):
    """The theme would refuse to build for one that it does not know."""
    assert (kept / "book" / "intro.html").is_file()


@pytest.mark.parametrize(
    ("written", "place", "wanted"),
    [
        ("https://github.com/name/course.git", REPOSITORY, "https://github.com/name/course"),
        (" https://git.example/a/b/course/ ", REPOSITORY, "https://git.example/a/b/course"),
        ("https://name.github.io/course", SITE, "https://name.github.io/course/"),
        ("https://course.example", SITE, "https://course.example/"),
        ("", SITE, ""),
    ],
)
def test_an_address_is_brought_into_its_usual_form(written, place, wanted):
    assert cleaned(written, place) == wanted


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("git@github.com:name/course.git", REPOSITORY),
        ("https://github.com/name", REPOSITORY),
        ("http://course.example/", SITE),
        ("https://me:secret@git.example/a/course", REPOSITORY),
        ('https://course.example/"', SITE),
        ("course", SITE),
    ],
)
def test_what_is_no_address_is_refused(written, place):
    with pytest.raises(ValueError, match="address|repository"):
        cleaned(written, place)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("_config.yml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    set_address.write(tmp_path, REPOSITORY, "")
    set_address.write(tmp_path, SITE, "")
    update_citation(tmp_path)
    monkeypatch.setattr(set_address, "can_be_read", lambda repository: repository == WHERE)
    return tmp_path


def run(monkeypatch, folder, *arguments):
    monkeypatch.setattr(sys, "argv", ["set_address.py", *arguments])
    set_address.main(folder)


def test_one_command_sets_both_addresses_and_takes_them_out_again(monkeypatch, folder, capsys):
    before = {name: (folder / name).read_text() for name in ("_config.yml", "CITATION.cff")}
    run(monkeypatch, folder, WHERE, "--site", "https://course.example/now")
    config = yaml.safe_load((folder / "_config.yml").read_text())
    cited = yaml.safe_load((folder / "CITATION.cff").read_text())
    assert config["repository"]["url"] == cited["repository-code"] == WHERE
    assert config["html"]["baseurl"] == cited["url"] == "https://course.example/now/"
    assert WHERE in capsys.readouterr().out
    run(monkeypatch, folder, "", "--site", "")
    assert before == {name: (folder / name).read_text() for name in before}


def test_an_address_that_nobody_can_read_changes_nothing(monkeypatch, folder):
    before = (folder / "_config.yml").read_text()
    with pytest.raises(SystemExit, match="nothing was changed"):
        run(monkeypatch, folder, "https://git.example/a/another")
    assert (folder / "_config.yml").read_text() == before
    run(monkeypatch, folder, "https://git.example/a/another", "--unchecked")
    assert "another" in (folder / "CITATION.cff").read_text()


@pytest.mark.skipif(not shutil.which("git"), reason="no git here")
def test_a_repository_is_read_to_see_whether_it_is_there(tmp_path):
    there = tmp_path / "there"
    subprocess.run(["git", "init", "--quiet", "--bare", there], check=True)
    assert set_address.can_be_read(str(there))
    assert not set_address.can_be_read(str(tmp_path / "not there"))


def test_the_citation_names_the_addresses_of_the_configuration(tmp_path):
    for name in ("_config.yml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    assert not update_citation(tmp_path), "python tools/set_address.py"


# --- the page -------------------------------------------------------------------------------------


def test_the_commands_on_the_page_exist():
    made = set(re.findall(r"^make ([a-z-]+)", PAGE, re.M))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert made
    assert made <= targets
    named = re.findall(r"(?:tools|deploy|\.github)/[\w./-]+\w", PAGE)
    assert {"tools/set_address.py", "tools/site_headers.py", "deploy/Containerfile"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_build_arguments_on_the_page_exist():
    containerfile = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
    arguments = re.findall(r"--build-arg (\w+)=", PAGE)
    assert {"SOLUTIONS", "BANNER", "CURRENT"} <= set(arguments)
    assert [name for name in arguments if f"ARG {name}=" not in containerfile] == []


def test_the_container_is_tried_by_the_commands_on_the_page():
    tried = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    commands = re.findall(r"^podman (build|run) (.*)$", PAGE, re.M)
    assert [verb for verb, _ in commands] == ["build", "run"]
    for verb, rest in commands:
        assert re.search(rf"run: docker {verb} (--detach )?{re.escape(rest)}\n", tried)


def test_a_small_book_has_the_theme_and_the_policy_of_the_course(kept):
    """So that what is tested on it holds for the site."""
    assert {path.name for path in html_pages(kept)} >= {"index.html", "intro.html", "search.html"}
    assert "site.css?v=" in (kept / "book" / "intro.html").read_text(encoding="utf-8")
