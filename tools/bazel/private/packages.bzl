"""Installs locked Python packages: pip, hashes required, no dependency resolution, wheels only."""

def _pyenv_versions(rctx, name):
    """Interpreters called `name` that pyenv has: its shims run only the versions it is set to."""
    home = rctx.os.environ.get("HOME", "")
    versions = rctx.path(rctx.os.environ.get("PYENV_ROOT", home + "/.pyenv") + "/versions")
    if not versions.exists:
        return []
    commands = [version.get_child("bin").get_child(name) for version in versions.readdir()]
    return [command for command in commands if command.exists]

def base_python(rctx, name = "python3"):
    """The real interpreter behind `name`, not a shim or a virtual environment; None if absent.

    Args:
      rctx: the repository context.
      name: a command on PATH, or of one of pyenv's versions.

    Returns:
      struct(path, version), version as "3.11"; None where there is none.
    """
    for command in [rctx.which(name)] + _pyenv_versions(rctx, name):
        asked = rctx.execute([command, "-c", """\
import os, sys
print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
print("%d.%d" % sys.version_info[:2])
"""]) if command else None
        lines = asked.stdout.strip().split("\n") if asked else []
        if asked and asked.return_code == 0 and len(lines) == 2:
            return struct(path = lines[0], version = lines[1])
    return None

def install_packages(rctx, python, lock, target, optional = False):
    """`pip install --target` of every line of a lock file.

    Args:
      rctx: the repository context.
      python: path of an interpreter that has pip.
      lock: label of the lock file; the repository is refetched when it changes.
      target: folder inside the repository.
      optional: a failure is an answer, and leaves nothing in `target`.

    Returns:
      Whether the packages are there.
    """
    if rctx.execute([python, "-m", "pip", "--version"]).return_code != 0:
        fail("%s has no pip: install it (Debian: apt-get install python3-pip)." % python)
    result = rctx.execute(
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-compile",
            "--only-binary=:all:",
            "--require-hashes",
            "--target",
            target,
            "--requirement",
            str(rctx.path(lock)),
        ],
        environment = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"},
        timeout = 3600,
    )
    if result.return_code != 0 and optional:
        rctx.delete(target)
        return False
    if result.return_code != 0:
        fail("pip could not install the locked packages of %s:\n%s" % (lock, result.stderr))

    # Tests cannot write here, so byte code that is not made now is made again in every process.
    # The exit code is ignored: packages carry templates that are no Python.
    rctx.execute(
        [python, "-m", "compileall", "-q", "-j", "2", "--invalidation-mode", "unchecked-hash", target],
        timeout = 3600,
    )
    return True
