"""Installs locked Python packages: pip, hashes required, no dependency resolution, wheels only."""

def base_python(rctx, name = "python3"):
    """The real interpreter behind `name`, not a shim or a virtual environment; None if absent.

    Args:
      rctx: the repository context.
      name: a command on PATH.

    Returns:
      struct(path, version), version as "3.11"; None where there is none.
    """
    command = rctx.which(name)
    if not command:
        return None
    asked = rctx.execute([command, "-c", """\
import os, sys
print(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
print("%d.%d" % sys.version_info[:2])
"""])
    lines = asked.stdout.strip().split("\n")
    if asked.return_code != 0 or len(lines) != 2:
        return None
    return struct(path = lines[0], version = lines[1])

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
