#!/bin/sh
# Takes out of an environment what only serves to build or to test: torch's headers, compilers and test programs.
# usage: trim.sh /opt/venv
set -eu
torch=$(echo "$1"/lib/python3*/site-packages/torch)
test -d "$torch" || { echo "error: no torch in $1" >&2; exit 1; }
find "$torch/bin" -mindepth 1 ! -name torch_shm_manager -delete
rm -rf "$torch/include" "$torch/test" "$torch/share/cmake"
