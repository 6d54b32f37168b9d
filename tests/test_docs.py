"""The documentation is true: its examples run, its commands and options are the ones there are, its links lead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agent_memory.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "spec").glob("*.md")),
]
WITH_EXAMPLES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in ("getting-started.md", "consolidation.md", "corrections.md", "recall.md", "scope.md")
    ),
]
CLI_PAGE = ROOT / "docs" / "cli.md"

pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="the documentation is not beside the tests")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_every_example_runs_word_for_word_and_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "agent-memory"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agent_memory.cli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name in ("PATH", "IDENTITY", "PROJECT", "USER", "AGENT", "SESSION"):
        monkeypatch.delenv(f"AGENT_MEMORY_{name}", raising=False)
    namespace: dict[str, object] = {}
    ran = 0
    for language, content in blocks(page):
        # The README shows the same in either language; in getting-started the two work on one memory.
        place = tmp_path / (language if page.name == "README.md" else "shared")
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        if language == "python":
            exec(content, namespace)
        elif language == "sh" and "make " not in content:
            done = subprocess.run(["sh", "-e", "-c", content], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{content}\n{done.stdout}\n{done.stderr}"
        else:
            continue
        ran += 1
    assert ran >= 2


def test_what_the_readme_says_about_disputes_is_what_is_printed(tmp_path: Path) -> None:
    code = "".join(content for language, content in blocks(ROOT / "README.md") if language == "python")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert sum(line.startswith("- [disputed:") for line in lines) == 2
    assert "Dublin" in lines[0]
    assert lines[-2:] == ["checked on the host", "1"]


def test_what_getting_started_says_happens(tmp_path: Path) -> None:
    from cli_runner import ok

    content = "".join(block for language, block in blocks(ROOT / "docs" / "getting-started.md") if language == "sh")
    for name in ("handover.md", "events.jsonl"):
        found = re.search(rf"cat > {re.escape(name)} <<'(\w+)'\n(.*?)^\1$", content, flags=re.MULTILINE | re.DOTALL)
        assert found
        (tmp_path / name).write_text(found[2], encoding="utf-8")
        ok("--path", tmp_path / "memory", "ingest", tmp_path / name)
    records = ok("--path", tmp_path / "memory", "--json", "list").json["records"]
    assert [len(record["evidence"]) for record in records if record["type"] == "rule"] == [3]
    handbook = [record for record in records if "handbook" in record["body"]]
    assert sorted(record["state"] for record in handbook) == ["active", "superseded", "superseded"]


# ------------------------------------------------------------------ the page of the command line


def section(name: str) -> str:
    found = re.search(rf"^### {name}\n(.*?)(?=^### |\Z)", CLI_PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section about {name}"
    return found[1]


def own_options(command: click.Command) -> set[str]:
    """The options of a command that are not global ones."""
    return {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
        if name not in global_options()
    }


def global_options() -> set[str]:
    return {name for parameter in app.params for name in parameter.opts}


@pytest.mark.parametrize("name", sorted(app.commands))
def test_every_command_is_documented_with_every_option(name: str) -> None:
    text = section(name)
    assert f"`agent-memory {name}" in text
    for option in own_options(app.commands[name]):
        assert re.search(rf"`{option}\b", text), f"docs/cli.md does not explain {name} {option}"
    for mentioned in re.findall(r"`(--[a-z-]+)", text):
        assert mentioned in own_options(app.commands[name]) | global_options(), f"{name} has no {mentioned}"


def test_no_command_is_documented_that_is_not_there() -> None:
    assert sorted(re.findall(r"^### (\S+)$", CLI_PAGE.read_text("utf-8"), flags=re.MULTILINE)) == sorted(app.commands)


def test_global_options_and_variables_are_documented() -> None:
    text = CLI_PAGE.read_text("utf-8")
    for parameter in app.params:
        for name in parameter.opts:
            assert f"`{name}" in text
        if isinstance(parameter, click.Option) and parameter.envvar:
            assert f"`{parameter.envvar}`" in text


# ------------------------------------------------------------------ all pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for named in re.findall(r"(?:tests|benches)/\w+\.py", text):
        assert (ROOT / named).exists(), f"{page.name} names {named}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_that_are_named_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    for named in re.findall(r"(?:^|`)make ([\w-]+)", page.read_text("utf-8"), flags=re.MULTILINE):
        assert named in targets, f"{page.name} names make {named}"


def test_the_readme_opens_with_the_two_commands() -> None:
    assert [line.split("#")[0].strip() for line in blocks(ROOT / "README.md")[0][1].splitlines()] == [
        "make demo",
        "make test",
    ]
