"""Built pages fit a strict policy: no script in an attribute, addresses that name the content."""

import hashlib
import re

import pytest

from tests.site_pages import built_site
from tools.fingerprint import LOADED, fingerprint, html_pages
from tools.site_headers import KEEP, Scripts, content_policy, lifetime, other_hosts, script_hash


@pytest.fixture(scope="module")
def pages():
    return {path: path.read_text(encoding="utf-8") for path in html_pages(built_site())}


@pytest.fixture(scope="module")
def scripts(pages):
    return {path: Scripts(text) for path, text in pages.items()}


@pytest.mark.parametrize("bad", ['onclick="f()"', 'href=" JavaScript:f()"', "\nonerror = f()"])
def test_a_script_in_an_attribute_is_recognised(bad):
    assert len(Scripts(f'<a title="a > b" {bad}>a</a>').in_attributes) == 1


def test_no_attribute_runs_a_script(scripts):
    assert {
        path.name: found.in_attributes for path, found in scripts.items() if found.in_attributes
    } == {}


def test_every_inline_script_is_named_by_the_policy_and_the_policy_stays_short(scripts):
    policy = content_policy(built_site(), other_hosts())
    for found in scripts.values():
        assert all(script_hash(script) in policy for script in found.inline)
    assert "unsafe-eval" not in policy
    (rule,) = [rule for rule in policy.split("; ") if rule.startswith("script-src")]
    assert "unsafe-inline" not in rule
    # a proxy's usual room for all headers of an answer is 4 kB
    assert len(policy) < 2500, "inline scripts should be the same on every page"


def test_the_hash_is_the_one_browsers_compute():
    # the example of the CSP specification
    known = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
    assert script_hash("alert('Hello, world.');") == known


def test_data_is_no_script_and_a_module_is_one():
    page = '<script type="application/json">{"a": 1}</script><script type="module">f()</script>'
    assert Scripts(page).inline == ["f()"]


def test_scripts_of_another_host_are_refused_until_they_are_allowed(tmp_path):
    (tmp_path / "index.html").write_text('<script src="https://count.example/s.js"></script>')
    with pytest.raises(ValueError, match="index.html loads a script from https://count.example"):
        content_policy(tmp_path, [])
    policy = content_policy(tmp_path, ["https://count.example"])
    assert policy.count(" https://count.example") == 3  # its script, its pixel, what it sends


def test_addresses_name_the_content_of_the_files_they_load(pages):
    html = built_site()
    checked = 0
    for path, text in pages.items():
        for found in LOADED.finditer(text):
            version = re.match(r'\?v=([0-9a-f]{16})["#]', text[found.end(2) :])
            assert version, f"{path}: {found[0]}"
            loaded = (path.parent / found[2]).resolve()
            assert hashlib.sha256(loaded.read_bytes()).hexdigest().startswith(version[1])
            assert lifetime(f"/{loaded.relative_to(html)}?v={version[1]}") == KEEP
            checked += 1
    assert checked > 10 * len(pages)


def test_pages_and_unnamed_files_are_asked_for_again():
    for address in ["/", "/book/intro.html", "/searchindex.js", "/_static/course.css?v=1"]:
        assert lifetime(address) == "no-cache"


def test_another_content_gives_another_address(tmp_path):
    page, script = tmp_path / "a.html", tmp_path / "s.js"
    page.write_text('<script src="s.js?v=old"></script><img src="none.png"><img src="//h/p.png">')
    script.write_text("1")
    fingerprint(tmp_path)
    first = page.read_text()
    assert re.search(r's\.js\?v=[0-9a-f]{16}"', first)
    assert '"none.png"' in first
    assert '"//h/p.png"' in first
    fingerprint(tmp_path)
    assert page.read_text() == first
    script.write_text("2")
    fingerprint(tmp_path)
    assert page.read_text() != first
