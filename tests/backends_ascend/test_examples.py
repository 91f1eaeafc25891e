"""The examples as users run them: on CANN where the environment names one, else simulated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import ascend_build


def environment(folder: Path) -> dict[str, str]:
    """What CANN's set_env.sh would have set."""
    home = os.environ.get("ASCEND_HOME_PATH")
    toolkit = Path(home) if home else ascend_build.lay_out_toolkit(folder / "cann")
    print("on CANN" if home else "on the simulated NPU", toolkit)
    driver = Path("/usr/local/Ascend/driver/lib64")
    libraries = [toolkit / "lib64", driver, driver / "common", driver / "driver"]
    return {
        **os.environ,
        "ASCEND_HOME_PATH": str(toolkit),
        "EXAMPLE_JIT_CACHE_DIR": str(folder / "cache"),
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }


def example(name: str, folder: Path) -> Path:
    built = Path("backends_ascend", name).absolute()
    if built.exists() and os.access(built, os.X_OK):
        return built
    source = ascend_build.ROOT / f"backends_ascend/examples/{name}.cpp"
    return ascend_build.compile_program(folder / name, [source])


def test_vector_add_is_right_cold_and_from_the_cache(tmp_path: Path) -> None:
    program, variables = example("vector_add", tmp_path), environment(tmp_path)
    for _ in range(2):
        done = subprocess.run(
            [str(program)], env=variables, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "vector_add: 100003 right, 0 wrong" in done.stdout
    print(done.stdout)
    assert len(list((tmp_path / "cache/cache").iterdir())) == 1
