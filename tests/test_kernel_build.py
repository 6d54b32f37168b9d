"""Which kernel is used, what it says of itself, and what importing the package costs."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from agent_memory import _native as native
from agent_memory.kernel import native as native_kernel
from agent_memory.kernel import reference
from agent_memory.kernel.boundary import BOUNDARY

ROOT = Path(__file__).parent.parent


def run(code: str, kernel: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the code in an interpreter of its own, with AGENT_MEMORY_KERNEL set to `kernel` or not set."""
    environment = {name: value for name, value in os.environ.items() if name != "AGENT_MEMORY_KERNEL"}
    if kernel is not None:
        environment["AGENT_MEMORY_KERNEL"] = kernel
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("choice", "module"), [(None, "native"), ("", "native"), ("native", "native"), ("python", "reference")]
)
def test_the_environment_chooses_the_kernel(choice: str | None, module: str) -> None:
    done = run(
        "from agent_memory import kernel\n"
        f"from agent_memory.kernel import {module} as chosen\n"
        "assert all(getattr(kernel, name) is getattr(chosen, name) for name in kernel.__all__)\n"
        "print(len(kernel.__all__))",
        choice,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_the_reference_runs_without_the_binary() -> None:
    done = run(
        "import sys\n"
        "sys.modules['agent_memory._native'] = None\n"
        "from agent_memory import kernel\n"
        "print(kernel.digest({}), kernel.build_info()['profile'])",
        "python",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [reference.digest({}), "python"]


def test_an_unknown_kernel_is_refused() -> None:
    done = run("import agent_memory.kernel", "fast")
    assert done.returncode != 0
    assert "ArgumentError: AGENT_MEMORY_KERNEL names no kernel: set it to 'native' or 'python'" in done.stderr


def test_a_missing_binary_is_no_silent_fallback() -> None:
    done = run("import sys; sys.modules['agent_memory._native'] = None\nimport agent_memory.kernel")
    assert done.returncode != 0
    assert "ImportError: the compiled kernel agent_memory._native is missing" in done.stderr
    assert "pip install -e ." in done.stderr


def test_a_stale_binary_is_noticed() -> None:
    done = run(
        "import sys, types, agent_memory._native as native\n"
        "stale = types.ModuleType('agent_memory._native')\n"
        "vars(stale).update(vars(native), build_info=lambda: {**native.build_info(), 'boundary': 999})\n"
        "for name in [name for name in sys.modules if name.startswith('agent_memory')]: del sys.modules[name]\n"
        "sys.modules['agent_memory._native'] = stale\n"
        "import agent_memory.kernel"
    )
    assert done.returncode != 0
    assert f"ImportError: the compiled kernel has boundary 999, this package needs {BOUNDARY}" in done.stderr


def test_both_kernels_offer_the_same() -> None:
    assert set(native.__all__) == set(native_kernel.__all__) == set(reference.__all__)


def test_the_binary_says_what_it_is() -> None:
    info = native.build_info()
    assert info["profile"] == "release"
    assert info["boundary"] == BOUNDARY
    assert set(info) == set(reference.build_info())
    assert reference.build_info()["profile"] == "python"


def test_the_version_stands_in_one_place() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]
    assert workspace["package"]["version"] == native.build_info()["version"] == version("agent-memory")
    assert reference.build_info()["version"] == version("agent-memory")
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dynamic"]
