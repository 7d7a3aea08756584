"""The installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from conftest import ROOT

PACKAGE = ROOT / "clients" / "python"
PROGRAM = """
import json, pathlib, sys, tributary
here = pathlib.Path(tributary.__file__).parent
print(json.dumps([tributary.__version__, here.is_relative_to(sys.prefix), (here / "py.typed").exists(), sorted(
    name for name in sys.modules if name.split(".")[0] in ("torch", "keras", "sklearn", "matplotlib"))]))
"""


def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    # A copy, because building leaves files next to the sources.
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", str(PACKAGE), str(source)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    install = [*pip, "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True)
    # Only the machine's numpy is available, and nothing else that is installed there.
    lent = tmp_path / "lent"
    lent.mkdir()
    for entry in Path(np.__file__).parents[1].iterdir():
        if entry.name.startswith("numpy"):
            (lent / entry.name).symlink_to(entry)
    ran = subprocess.run(
        [str(python), "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(lent)},
    )
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert json.loads(ran.stdout) == [version, True, True, []]
