#!/usr/bin/env bash
# launch/run.sh [-np N] [CONF] [KEY=VALUE ...] [options]
#
# From a bare Debian 12 machine to a running program: installs what is missing, builds, and
# runs CONF (conf/quickstart.yaml) on N ranks (2). What follows -np N goes to the program as
# it is; `launch/run.sh --help` shows what it understands.
set -euo pipefail

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
    -h | --help | --version | --env | --check | --plan* | --print-config* | --explain*)
      looks_only=yes ;;
    *.yaml | *.yml)
      # A path as seen from where the user stands; the program itself runs in the top folder.
      [[ ! -e $started_in/$1 ]] || set -- "$started_in/$1" "${@:2}"
      [[ $previous == --with ]] || conf=$1 ;;
  esac
  arguments+=("$1")
  previous=$1
  shift
done
[[ -n $conf || $looks_only == yes ]] || arguments=(conf/quickstart.yaml "${arguments[@]}")

set_up
configure
build mgpu_spmd
cd "$top"
if [[ $looks_only == yes && -z $ranks ]]; then exec ./mgpu_spmd "${arguments[@]}"; fi
exec launch/mgpu-run -np "${ranks:-2}" ./mgpu_spmd "${arguments[@]}"
