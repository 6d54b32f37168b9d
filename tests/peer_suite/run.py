"""Runs the test suite of ``fg-agent-memory`` 0.2.0 on this project and compares the failures with the known ones.

    python tests/peer_suite/run.py [--keep DIR]

Downloads the pinned source archive, checks its hash, and runs its tests through the import shim beside this file.
Exits 0 when no test fails that ``known-differences.txt`` does not list, each listed one still fails or is skipped, and
the suite is complete.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
REQUIREMENT = "fg-agent-memory==0.2.0"
SHA256 = "d1e25b6b94f120d4d0f47a469d094d35ab401daff38816e47cbc247969f27e10"
TESTS = 244


def download(folder: Path) -> Path:
    """Fetch and unpack the source archive; the folder that holds ``tests/``."""
    wanted = folder / "requirement.txt"
    wanted.write_text(f"{REQUIREMENT} --hash=sha256:{SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--require-hashes", "--dest", folder, "-r", wanted], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def run(suite: Path, results: Path) -> str:
    """Run the suite's tests in a process of their own; what pytest printed."""
    environment = {**os.environ, "PYTHONPATH": str(HERE / "shim")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}", "tests"]
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def outcomes(results: Path) -> dict[str, str]:
    """Test name → passed, failed or skipped."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        parts = case.get("classname", "").split(".")
        split = next(position for position, part in enumerate(parts) if part.startswith("test_")) + 1
        name = "::".join(["/".join(parts[:split]) + ".py", *parts[split:], case.get("name", "")])
        kinds = {child.tag for child in case}
        found[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    arguments = parser.parse_args()
    known = {line for line in (HERE / "known-differences.txt").read_text().splitlines() if line and line[0] != "#"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        results = folder / "results.xml"
        printed = run(download(folder), results)
        if not results.exists():
            print(printed)
            return 1
        found = outcomes(results)
    failed = {name for name, outcome in found.items() if outcome == "failed"}
    passed = {name for name, outcome in found.items() if outcome == "passed"}
    unexpected = sorted(failed - known)
    mended = sorted(known & passed)
    unknown = sorted(known - found.keys())
    print(
        f"{len(found)} tests: {len(passed)} passed, {len(failed)} failed, {len(found.keys() - passed - failed)} skipped"
    )
    for title, names in (
        ("fails, but is not a known difference", unexpected),
        ("is listed as a known difference, but passes", mended),
        ("is listed as a known difference, but is not in the suite", unknown),
    ):
        for name in names:
            print(f"{title}: {name}")
    if len(found) != TESTS:
        print(f"the suite has {TESTS} tests, but {len(found)} ran")
    if unexpected or len(found) != TESTS:
        print(printed)
    return int(bool(unexpected or mended or unknown) or len(found) != TESTS)


if __name__ == "__main__":
    sys.exit(main())
