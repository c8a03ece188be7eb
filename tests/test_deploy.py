"""deploy/ serves the built site: nginx with the headers the browser tests used, and a container."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from contextlib import closing

import pytest

from tests.site_pages import built_site
from tools.build_site import ROOT
from tools.local_server import free_port
from tools.site_headers import HTML, lifetime, nginx, site_headers

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONF = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
LINES = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", CONTAINERFILE, flags=re.M)).splitlines()
STAGES = "\n".join(LINES).split("FROM ")[1:]
# Kinds of file that need no type: nothing on a page loads them.
UNTYPED = {"", ".buildinfo", ".inv", ".mo"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Asks nginx, run as deploy/nginx.conf says, for an address: answer and body."""
    if NGINX is None:
        pytest.skip("No nginx here: `sudo apt install nginx-light` on Debian or Ubuntu brings one.")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    folder.chmod(0o755)  # started as root, nginx reads as another user
    (folder / "html").symlink_to(built_site())
    (folder / "run").mkdir()
    (folder / "headers.conf").write_text(nginx(built_site()), encoding="utf-8")
    assert CONF.count("listen 8080;") == 1
    here = CONF.replace("listen 8080;", f"listen 127.0.0.1:{port};")
    # the folders of a test can be read by their owner only
    here = f"user {as_whom()};\n{here}" if os.geteuid() == 0 else here
    (folder / "nginx.conf").write_text(here, encoding="utf-8")
    command = [NGINX, "-e", "stderr", "-p", folder, "-c", "nginx.conf"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def ask(address: str, **headers: str):
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
            connection.request("GET", address, headers=headers)
            answer = connection.getresponse()
            return answer, answer.read()

    for _ in range(200):
        try:
            ask("/health")
            break
        except OSError:
            assert server.poll() is None, server.stderr.read()
            time.sleep(0.05)
    yield ask
    server.terminate()
    said = server.communicate(timeout=20)[1]
    assert re.search(r"\[(warn|error|alert|crit|emerg)\]", said) is None, said


@pytest.fixture(scope="module")
def headers():
    return site_headers(built_site())


def as_whom() -> str:
    import grp
    import pwd

    return f"{pwd.getpwuid(0).pw_name} {grp.getgrgid(0).gr_name}"


ADDRESSES = ["/", "/book/intro.html", "/search.html?q=softmax", "/searchindex.js"]
ADDRESSES += ["/_static/course.js?v=0123456789abcdef", "/objects.inv"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_nginx_sends_the_headers_that_the_browser_tests_used(served, headers, address):
    answer, _ = served(address)
    assert answer.status == 200
    assert {name: answer.getheader(name) for name in headers} == headers
    assert answer.getheader("Cache-Control") == lifetime(address)
    assert answer.getheader("Server") == "nginx"  # and no version


def test_a_missing_file_has_the_same_policy_and_is_not_kept(served, headers):
    answer, body = served("/none.html?v=0123456789abcdef")
    assert answer.status == 404
    assert {name: answer.getheader(name) for name in headers} == headers
    assert answer.getheader("Cache-Control") is None
    own = HTML / "404.html"
    assert not own.exists() or body == own.read_bytes()


def test_text_is_compressed_for_those_who_take_it(served):
    plain = (built_site() / "book" / "intro.html").read_bytes()
    answer, body = served("/book/intro.html", **{"Accept-Encoding": "gzip"})
    assert answer.getheader("Content-Encoding") == "gzip"
    assert "Accept-Encoding" in answer.getheader("Vary")
    assert zlib.decompress(body, 31) == plain
    assert len(body) < len(plain) / 3
    assert served("/book/intro.html")[1] == plain


def test_a_page_that_has_not_changed_is_not_sent_again(served):
    tag = served("/book/intro.html")[0].getheader("ETag")
    answer, body = served("/book/intro.html", **{"If-None-Match": tag})
    assert (answer.status, body) == (304, b"")


def test_addresses_are_found_as_on_pages(served):
    assert served("/book/intro")[1] == served("/book/intro.html")[1]
    for address in ["/book", "/book/", "/.buildinfo", "/_static/../.buildinfo", "/nginx.conf"]:
        assert served(address)[0].status == 404, address


def test_the_server_says_that_it_is_well(served):
    answer, body = served("/health")
    assert (answer.status, body) == (200, b"ok\n")


def test_every_kind_of_file_of_the_site_has_a_type():
    lines = re.search(r"types \{\n(.*?)\}", CONF, re.S)[1].replace(";", "").splitlines()
    typed = {f".{suffix}" for line in lines for suffix in line.split()[1:]}
    kinds = {path.suffix for path in built_site().rglob("*") if path.is_file()}
    assert kinds - typed - UNTYPED == set()


def test_no_header_is_set_where_it_would_drop_the_others():
    assert "add_header" not in CONF.replace("# An add_header", "")


def test_the_container_runs_as_nobody_in_particular_and_listens_where_it_says():
    last = STAGES[-1]
    assert re.findall(r"^USER (\S+)", last, re.M) == ["nginx"]
    assert re.findall(r"^EXPOSE (\d+)", last, re.M) == re.findall(r"listen (\d+);", CONF)
    port = re.search(r"^EXPOSE (\d+)", last, re.M)[1]
    assert f"127.0.0.1:{port}/health" in re.search(r"^HEALTHCHECK .*", last, re.M)[0]


def test_what_the_container_copies_is_there_and_is_sent_to_its_build():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copied = set()
    for stage in STAGES:
        for line in re.findall(r"^COPY (?!--from)(.*)", stage, re.M):
            copied |= set(line.split()[:-1])
    assert copied == sent
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_container_builds_by_the_commands_of_the_course():
    build = STAGES[0]
    assert "RUN make book" in build
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for stamp in re.findall(r"make \.venv/(\S+)", build):
        assert f"$(VENV)/{stamp}" in makefile
    exported = re.search(r"^export (.*)", makefile, re.M)[1].split()
    before = build[: build.index("RUN make book")]
    for switch in exported:
        assert re.search(rf"^ARG {switch}\b", before, re.M), f"{switch} is no build argument"


def test_headers_are_printed_for_any_server(tmp_path, headers):
    command = [sys.executable, "tools/site_headers.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name, value in headers.items():
        assert f"{name}: {value}\n" in done.stdout
    done = subprocess.run([*command, "--html", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert "make book" in done.stderr
    assert done.returncode != 0
