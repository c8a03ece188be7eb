"""From chapter source to notebook to a student's copy: what the pipeline promises."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.sample_course import SLUG, write_course
from tools import lab, notebooks
from tools.cells import code_cells
from tools.convert import convert, setup_lines
from tools.course import ROOT, Course
from tools.local_server import free_port
from tools.markdown_lint import broken_details
from tools.markers import SourceError, right_choice
from tools.notebook_lint import problems

# one worker runs them all, so that what they share is made once
pytestmark = pytest.mark.xdist_group("pipeline")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The sample course with its notebook made once."""
    root = tmp_path_factory.mktemp("made")
    write_course(root)
    assert notebooks.main([], root=root) == 0
    return root


@pytest.fixture
def root(made, tmp_path, monkeypatch):
    """A copy of it, where running a notebook is an error unless a test allows it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)

    def refuse(*_, **__):
        raise AssertionError("a notebook was run")

    monkeypatch.setattr(notebooks, "execute", refuse)
    return tmp_path


def edit(root, old, new):
    """Replace one piece of the sample chapter's source."""
    source = Course(root).source(SLUG)
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1
    source.write_text(text.replace(old, new), encoding="utf-8")


def stored(root):
    return notebooks.read(Course(root).notebook(SLUG))


def rewrite(root, change):
    """Apply `change` to the stored notebook and write it back in the canonical form."""
    notebook = stored(root)
    change(notebook)
    path = Course(root).notebook(SLUG)
    path.write_text(notebooks.canonical(notebook), encoding="utf-8")


def test_the_notebooks_of_the_course_follow_from_their_sources(capsys):
    assert notebooks.main(["--check"]) == 0, capsys.readouterr().out


def test_a_made_notebook_breaks_no_rule(made):
    assert problems(stored(made), SLUG) == []


def test_cells_carry_the_ids_of_their_exercise_or_chapter(made):
    names = [cell.id for cell in stored(made).cells]
    assert names[:3] == ["02-softmax-1", "02-softmax-2", "02-softmax-3"]
    place = names.index("log_sum_exp-prompt")
    assert names[place + 1 : place + 4] == ["log_sum_exp", "log_sum_exp-check", "log_sum_exp-hints"]


def test_a_made_notebook_is_free_of_pairing_timing_and_version(made):
    text = Course(made).notebook(SLUG).read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert "jupytext" not in text
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "version" not in notebook["metadata"]["language_info"]
    assert all("execution" not in cell["metadata"] for cell in notebook["cells"])


def test_nothing_pairs_notebooks_with_sources():
    folders = (ROOT, ROOT / "book", ROOT / "book" / "chapters", ROOT / "notebooks")
    assert [path for folder in folders for path in folder.glob("*jupytext*")] == []
    assert "tool.jupytext" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "jupytext" not in (ROOT / "requirements.txt").read_text(encoding="utf-8")


def test_the_file_is_canonical_json(made):
    text = Course(made).notebook(SLUG).read_text(encoding="utf-8")
    again = json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert text == again


def test_making_it_again_runs_nothing_and_writes_nothing(root):
    path = Course(root).notebook(SLUG)
    before = path.stat().st_mtime_ns
    assert notebooks.main([], root=root) == 0
    assert path.stat().st_mtime_ns == before


def test_new_prose_keeps_the_stored_outputs(root):
    before = [cell.outputs for cell in code_cells(stored(root))]
    edit(root, "A cake is shared.", "A large cake is shared.")
    assert notebooks.main(["02"], root=root) == 0
    assert "A large cake" in stored(root).cells[1].source
    assert [cell.outputs for cell in code_cells(stored(root))] == before


@pytest.mark.parametrize("how", ["new code", "--force", "a cell that was never run"])
def test_a_notebook_is_run_when_its_outputs_are_not_to_be_trusted(root, monkeypatch, how):
    run = []
    monkeypatch.setattr(notebooks, "execute", lambda notebook, *_: run.append(notebook))
    if how == "new code":
        edit(root, "print(scores.sum())", "print(scores.max())")
    if how == "a cell that was never run":
        rewrite(root, lambda notebook: code_cells(notebook)[1].update(execution_count=None))
    notebooks.main(["02", *([how] if how == "--force" else [])], root=root)
    assert len(run) == 1


def test_a_cell_that_raises_is_named_and_nothing_is_written(made, tmp_path, capsys):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    edit(tmp_path, "print(scores.sum())", 'raise ValueError("no sum today")')
    before = Course(tmp_path).notebook(SLUG).read_bytes()
    assert notebooks.main([], root=tmp_path) == 1
    said = capsys.readouterr().out
    assert "02-softmax: cell 02-softmax-5 raised ValueError: no sum today" in said
    assert "Traceback" not in said
    assert Course(tmp_path).notebook(SLUG).read_bytes() == before


def swap(notebook):
    notebook.cells[3], notebook.cells[4] = notebook.cells[4], notebook.cells[3]


DRIFTS = {
    "cell 02-softmax-1: the source differs": lambda nb: nb.cells[0].update(source="# Other"),
    "cell softmax: the metadata differs": lambda nb: nb.cells[6].metadata.pop("tags"),
    "cell softmax: the source differs": lambda nb: nb.cells[6].update(source="softmax = 1"),
    "cell softmax is missing": lambda nb: nb.cells.pop(6),
    "cell other is not in the source": lambda nb: nb.cells[6].update(id="other"),
    "the cells stand in another order": swap,
    "the notebook's metadata differs": lambda nb: nb.metadata.update(jupytext={}),
}


@pytest.mark.parametrize("words", DRIFTS)
def test_the_drift_check_says_what_differs(root, capsys, words):
    rewrite(root, DRIFTS[words])
    before = Course(root).notebook(SLUG).read_bytes()
    assert notebooks.main(["--check"], root=root) == 1
    said = capsys.readouterr().out
    assert f"notebooks/02-softmax.ipynb: {words}" in said
    assert "python tools/notebooks.py" in said
    assert Course(root).notebook(SLUG).read_bytes() == before


def test_the_drift_check_misses_no_edit_of_the_source(root, capsys):
    edit(root, "A cake is shared.", "A pie is shared.")
    assert notebooks.main(["--check"], root=root) == 1
    assert "cell 02-softmax-2: the source differs" in capsys.readouterr().out


def test_the_drift_check_finds_missing_orphaned_and_differently_written_files(root, capsys):
    path = Course(root).notebook(SLUG)
    text = path.read_text(encoding="utf-8")
    path.write_text(json.dumps(json.loads(text)), encoding="utf-8")
    assert notebooks.main(["--check"], root=root) == 1
    path.rename(path.with_name("99-orphan.ipynb"))
    assert notebooks.main(["--check"], root=root) == 1
    said = capsys.readouterr().out
    assert "not written in the canonical form" in said
    assert "notebooks/02-softmax.ipynb is missing" in said
    assert "notebooks/99-orphan.ipynb has no source" in said


MISTAKES = {
    "there is no marker named 'hint'": ("<!-- hints: softmax -->", "<!-- hint: softmax -->"),
    "a comment that is no marker": ("A cake is shared.", "A cake. <!-- todo -->"),
    "There is no exercise named 'sofmax'": ("<!-- hints: softmax -->", "<!-- hints: sofmax -->"),
    "two cells would both be 'softmax-check'": (
        "print(scores.sum())",
        "x = 1\n```\n```{code-cell} ipython3\n---\ntags: [check]\nexercise: softmax\n---\nx = 2",
    ),
    "must be tagged setup": ("tags: [setup]", "tags: [start]"),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_in_the_source_is_said_in_a_sentence(root, capsys, words):
    edit(root, *MISTAKES[words])
    assert notebooks.main([], root=root) == 1
    said = capsys.readouterr().out
    assert "book/chapters/02-softmax.md: " in said
    assert words in said


def test_a_missing_quiz_and_an_unknown_chapter_are_said_in_a_sentence(root, capsys):
    Course(root).quiz(SLUG).unlink()
    assert notebooks.main([], root=root) == 1
    assert notebooks.main(["47"], root=root) == 1
    said = capsys.readouterr().out
    assert "02-softmax.yml is missing" in said
    assert "there is no chapter '47'; there are 02-softmax" in said


def test_hints_are_three_folds_and_a_link_to_the_solution(made):
    cell = next(cell for cell in stored(made).cells if cell.id == "softmax-hints")
    assert cell.source.count("<details>") == cell.source.count("</details>") == 3
    assert list(broken_details(cell.source.splitlines())) == []
    assert "(../book/solutions/02-softmax.md#Exercise-2.1-·-softmax)" in cell.source


def test_the_quiz_gives_a_reason_for_every_choice_and_computes_its_answer(made):
    cell = next(cell for cell in stored(made).cells if "## Quiz" in cell.source)
    assert "The answer is **B**." in cell.source
    assert "**A** · no. It belongs to the smallest score." in cell.source
    assert "**B** · right. The exponential grows" in cell.source


def test_chapters_to_come_are_named_and_never_linked(made):
    text = "\n".join(cell.source for cell in stored(made).cells)
    assert "1 · Dot products (to come)" in text
    assert "3 · Soft look-up (to come)" in text
    assert "dot-products.ipynb" not in text
    assert "soft-lookup.ipynb" not in text


def test_a_computed_answer_may_use_numpy():
    assert right_choice({"compute": "np.argmax([0, 1]) + 1"}) == 2


def test_the_setup_cell_says_in_one_sentence_how_to_get_the_package(made, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "attnbook", None)
    shell = InteractiveShell.instance()
    try:
        shell.run_cell(setup_lines(Course(made)))
    finally:
        InteractiveShell.clear_instance()
    said = capsys.readouterr().out.strip()
    assert said == (
        "The course's package is not installed for this Python. In the course's folder run\n"
        f"{sys.executable} -m pip install -e .\nand restart the kernel."
    )


def test_the_setup_cell_installs_on_colab_once_the_repository_has_an_address(tmp_path):
    write_course(tmp_path, url="https://example.org/course")
    lines = setup_lines(Course(tmp_path))
    assert '%pip install --quiet "attnbook @ git+https://example.org/course@main"' in lines
    assert "google.colab" in lines
    assert "pip install --quiet" not in setup_lines(Course(ROOT)) or Course(ROOT).repository[0]
    assert convert(SLUG, Course(tmp_path)).cells[2].source.startswith(lines)


def test_an_exercise_of_another_chapter_is_refused(tmp_path):
    write_course(tmp_path)
    source = Course(tmp_path).source(SLUG)
    source.rename(Course(tmp_path).source("01-dot-products"))
    with pytest.raises(SourceError, match="belongs to 02-softmax"):
        convert("01-dot-products", Course(tmp_path))


# --- the student's copies -----------------------------------------------------------------------


def test_a_students_copy_survives_an_update_of_the_course(root, capsys):
    assert lab.copy_notebooks(root).copied == ["02-softmax.ipynb"]
    mine = root / "my-work" / "02-softmax.ipynb"
    notebook = nbformat.read(mine, as_version=4)
    notebook.cells[6].source = "def softmax(scores, axis=-1):\n    return 'my own work'"
    nbformat.write(notebook, mine)
    before = mine.read_bytes()

    rewrite(root, lambda nb: nb.cells[0].update(source="# Softmax, improved"))
    shutil.copy(Course(root).notebook(SLUG), root / "notebooks" / "03-soft-lookup.ipynb")
    done = lab.copy_notebooks(root)
    lab.say(done)
    assert mine.read_bytes() == before
    assert done.copied == ["03-soft-lookup.ipynb"]
    assert done.newer == ["02-softmax.ipynb"]
    said = capsys.readouterr().out
    assert "my-work/03-soft-lookup.ipynb: copied" in said
    assert "my-work/02-softmax.ipynb: yours is kept; the course has a newer version" in said


def test_a_copy_that_is_up_to_date_is_left_alone(root):
    lab.copy_notebooks(root)
    done = lab.copy_notebooks(root)
    assert (done.copied, done.newer, done.kept) == ([], [], ["02-softmax.ipynb"])


def test_new_outputs_alone_are_no_newer_version(root):
    lab.copy_notebooks(root)
    rewrite(root, lambda nb: code_cells(nb)[1].outputs.clear())
    assert lab.copy_notebooks(root).newer == []


def test_jupyterlab_is_rooted_where_relative_links_resolve():
    command = lab.lab_command(ROOT, ["--no-browser"])
    assert f"--ServerApp.root_dir={ROOT}" in command
    assert "--LabApp.default_url=/lab/tree/my-work" in command
    assert command[-1] == "--no-browser"


def test_git_ignores_what_students_write():
    done = subprocess.run(["git", "check-ignore", "-q", "my-work/02-softmax.ipynb"], cwd=ROOT)
    assert done.returncode in (0, 128)  # 128: not a git checkout
    assert "my-work/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def server(root, tmp_path_factory):
    """A Jupyter server with jupytext on the sample course; a function (method, path, body)."""
    port = free_port()
    own = str(tmp_path_factory.mktemp("jupyter"))
    env = {**os.environ, **{f"JUPYTER_{kind}_DIR": own for kind in ("CONFIG", "RUNTIME", "DATA")}}
    options = [f"--port={port}", "--IdentityProvider.token=t", "--no-browser", "--allow-root"]
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", *options]
    said = Path(own, "said")
    with said.open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env)

    def ask(method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/{path}?token=t",
            data=json.dumps(body).encode() if body else None,
            method=method,
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    for _ in range(150):
        try:
            ask("GET", "status")
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    yield ask
    process.terminate()
    process.wait(20)
    assert "TextFileContentsManager" in said.read_text()


def test_saving_through_a_server_with_jupytext_leaves_the_sources_alone(root, server):
    source = Course(root).source(SLUG)
    before = source.read_bytes()
    files = {path for path in root.rglob("*") if ".ipynb_checkpoints" not in path.parts}
    lab.copy_notebooks(root)
    for folder in ("my-work", "notebooks"):
        path = f"contents/{folder}/02-softmax.ipynb"
        model = server("GET", path)
        model["content"]["cells"][0]["source"] = "# Mine"
        server("PUT", path, model)
        saved = nbformat.read(root / folder / "02-softmax.ipynb", as_version=4)
        assert saved.cells[0].source == "# Mine"
        assert "jupytext" not in saved.metadata
    assert source.read_bytes() == before
    new = {path for path in root.rglob("*") if ".ipynb_checkpoints" not in path.parts} - files
    assert {path.name for path in new} == {"my-work", ".copied.json", "02-softmax.ipynb"}

    # with pairing metadata the same save would have overwritten the source
    model["content"]["metadata"]["jupytext"] = {
        "formats": "book/chapters//md:myst,notebooks//ipynb"
    }
    server("PUT", path, model)
    assert source.read_bytes() != before
