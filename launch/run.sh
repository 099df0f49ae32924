#!/usr/bin/env bash
# launch/run.sh [-np N] [CONF] [KEY=VALUE ...] [options]
#
# Takes a bare Debian 12 machine to a running program: installs what is missing, builds, and runs
# CONF (conf/train/quickstart.yaml) on N ranks (one for each GPU, 2 without GPUs). Arguments after
# -np N are passed to the program unchanged.
# --help prints this and, once the program is built, the program's options.
set -euo pipefail

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  [[ ! -x $top/mgpu_spmd ]] || "$top/mgpu_spmd" --help
}

version() {
  if [[ -x $top/mgpu_spmd ]]; then "$top/mgpu_spmd" --version; return; fi
  sed -n 's/^project(mgpu_spmd VERSION \([0-9.]*\).*/mgpu_spmd \1, not built yet/p' "$top/CMakeLists.txt"
}

started_in=$PWD
# shellcheck source=launch/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

ranks='' conf='' looks_only=no previous=''
arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    -np | -n)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail 64 "-np wants a number of ranks, not '${2:-}'"
      ranks=$2
      shift 2
      continue ;;
    -h | --help) usage; exit 0 ;;  # help must not install anything
    --version) version; exit 0 ;;
    --env | --check | --plan* | --print-config* | --explain* | --merge* | --export* | --compare*)
      looks_only=yes ;;
    --with=*)
      [[ ! -e $started_in/${1#--with=} ]] || set -- "--with=$started_in/${1#--with=}" "${@:2}" ;;
    *.yaml | *.yml)
      # Resolves a path from the user's folder, because the program runs in the top folder.
      [[ ! -e $started_in/$1 ]] || set -- "$started_in/$1" "${@:2}"
      [[ $previous == --with ]] || conf=$1 ;;
  esac
  arguments+=("$1")
  previous=$1
  shift
done
[[ -n $conf || $looks_only == yes ]] || arguments=(conf/train/quickstart.yaml "${arguments[@]}")

set_up
configure
build mgpu_spmd
cd "$top"
if [[ $looks_only == yes && -z $ranks ]]; then exec ./mgpu_spmd "${arguments[@]}"; fi
exec launch/mgpu-run ${ranks:+-np "$ranks"} ./mgpu_spmd "${arguments[@]}"
