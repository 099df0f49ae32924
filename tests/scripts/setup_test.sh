#!/usr/bin/env bash
# Tests the promises of launch/setup.sh, without installing anything.
set -uo pipefail
# shellcheck source=tests/scripts/check.sh
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"

# as_nobody COMMANDS: sources setup.sh and runs COMMANDS, as a user without root or sudo. It uses a
# copy of launch/, because that user may not read root's folder.
as_nobody() {
  cp -r "$top/launch" "$work/"
  chmod -R a+rX "$work"
  local text="source '$work/launch/setup.sh'; $1"
  if [[ $(id -u) == 0 ]]; then
    run setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "$text"
  else
    run bash -c "$text"
  fi
}

case_without_root_the_missing_are_listed() {
  as_nobody 'install_packages "
tool:bash       bash
tool:nonesuch   nonesuch-tools
tool?:nonesuch2  nonesuch-extra
header:none/such.h  libnonesuch-dev
module:nonesuch python3-nonesuch
"'
  code_is 69
  says 'tool:nonesuch +apt-get install nonesuch-tools'
  says 'header:none/such.h +apt-get install libnonesuch-dev'
  says 'module:nonesuch +apt-get install python3-nonesuch'
  says 'apt-get install .*nonesuch-tools nonesuch-extra libnonesuch-dev python3-nonesuch$'
  says_not 'tool:bash|tool.*nonesuch2'
}

case_without_root_some_tools_are_done_without() {
  as_nobody "install_packages '
tool:bash        bash
tool?:nonesuch   nonesuch-extra
'"
  code_is 0
  says 'works without nonesuch-extra'
}

case_what_is_here_by_other_means_is_enough() {
  mkdir -p "$work/bin" "$work/prefix/include/some"
  printf '#!/bin/sh\n' >"$work/bin/sometool"
  chmod +x "$work/bin/sometool"
  : >"$work/prefix/include/some/header.hpp"
  chmod -R a+rX "$work"
  as_nobody "export PATH=\$PATH:$work/bin CMAKE_PREFIX_PATH=$work/prefix
install_packages '
tool:sometool            no-such-package
header:some/header.hpp   no-such-package-dev
module:json              no-such-python-package
'"
  code_is 0
}

case_the_users_own_libtorch_is_taken() {
  mkdir -p "$work/torch/include/ATen"
  : >"$work/torch/include/ATen/ATen.h"
  run env CMAKE_PREFIX_PATH="$work/torch" bash -c \
    "source '$top/launch/setup.sh'; deps=$work/deps; install_torch"
  code_is 0
  [[ ! -e $work/deps ]] || broken 'something was installed beside it'
}

case_without_pypi_there_are_no_chat_templates() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nexit 1\n' >"$work/bin/python3"
  chmod +x "$work/bin/python3"
  run env PATH="$work/bin:$PATH" bash -c \
    "source '$top/launch/setup.sh'; deps=$work/deps; install_jinja"
  code_is 0
  says 'works without chat templates'
  [[ -z $(ls "$work/deps") ]] || broken 'something half done was left'
}

case_without_pypi_there_is_no_parquet() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nexit 1\n' >"$work/bin/python3"
  chmod +x "$work/bin/python3"
  run env PATH="$work/bin:$PATH" bash -c \
    "source '$top/launch/setup.sh'; deps=$work/deps; install_arrow"
  code_is 0
  says 'works without Parquet files'
  [[ -z $(ls "$work/deps") ]] || broken 'something half done was left'
}

case_run_wants_a_number_of_ranks() {
  run "$top/launch/run.sh" -np many
  code_is 64
}

case_questions_about_run_install_and_build_nothing() {
  cp -r "$top/launch" "$top/CMakeLists.txt" "$work/"
  local question
  for question in -h --help --version; do
    run "$work/launch/run.sh" "$question"
    code_is 0
    says 'launch/run.sh \[-np N\]|^mgpu_spmd [0-9.]+, not built yet$'
    [[ ! -e $work/build && ! -e $work/.deps ]] || broken 'something was begun'
  done
}

finish
