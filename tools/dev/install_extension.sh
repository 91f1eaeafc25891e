#!/bin/sh
# Copies the extension that Bazel built beside deep_gemm/__init__.py of the checkout, so that plain
# python3 and pytest find it. Run by `bazel run //tools/dev:install_extension`.
set -eu
name=deep_gemm/_C_extension.abi3.so
target="${BUILD_WORKSPACE_DIRECTORY:?run me by bazel run}/$name"
# By rename: a process that has the old file loaded keeps it whole.
cp -L "$name" "$target.new"
chmod 755 "$target.new"
mv -f "$target.new" "$target"
echo "installed $target"
