#!/bin/sh
# Every C file is formatted.  Exits with 77 without clang-format 14.  Usage: format.sh ROOT
cd "${1:-.}" && exec ./tools/format --check
