# shellcheck shell=bash
# Sourced by setup.sh: installs Arrow and Parquet from the pinned pyarrow wheel on PyPI, to read
# Parquet files. If it cannot be fetched, the build works without it.

: "${deps:?setup.sh sets it}"

arrow_version=26.0.1

# install_arrow: installs headers and two libraries of the wheel in .deps/arrow
install_arrow() {
  local stamp=$deps/arrow/version part=$deps/arrow.part
  [[ $(cat "$stamp" 2>/dev/null) != "$arrow_version" ]] || return 0
  say "fetching Arrow $arrow_version into .deps/ (a download of 55 MB, once)"
  rm -rf "$part"
  mkdir -p "$part"
  if ! fetch_arrow "$part"; then
    rm -rf "$part"
    say "works without Parquet files: pyarrow $arrow_version could not be fetched"
    return 0
  fi
  keep_arrow "$part"
  echo "$arrow_version" >"$part/version"
  rm -rf "$deps/arrow"
  mv "$part" "$deps/arrow"
}

fetch_arrow() {
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --no-deps --no-compile --only-binary=:all: --target "$1" "pyarrow==$arrow_version"
}

# keep_arrow FOLDER: removes all of pyarrow but the headers and the two libraries that are linked
keep_arrow() {
  find "$1/pyarrow" -mindepth 1 -maxdepth 1 ! -name include \
    ! -name 'libarrow.so.*' ! -name 'libparquet.so.*' -exec rm -rf {} +
}
