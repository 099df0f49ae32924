# shellcheck shell=bash
# Sourced by setup.sh: installs the Jinja interpreter of llama.cpp for chat templates from the
# pinned source package of llama-cpp-python on PyPI. If it cannot be fetched, the build works
# without it.

: "${deps:?setup.sh sets it}"

jinja_version=0.3.36
jinja_sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e

# install_jinja: installs about 20 files of the package in .deps/llama.cpp
install_jinja() {
  local stamp=$deps/llama.cpp/version part=$deps/llama.cpp.part
  [[ $(cat "$stamp" 2>/dev/null) != "$jinja_version" ]] || return 0
  say "fetching the Jinja of llama.cpp into .deps/ (a download of 73 MB, once)"
  rm -rf "$part"
  mkdir -p "$part"
  if ! fetch_jinja "$part" || ! unpack_jinja "$part"; then
    rm -rf "$part"
    say "works without chat templates: llama-cpp-python $jinja_version could not be fetched"
    return 0
  fi
  echo "$jinja_version" >"$part/version"
  rm -rf "$deps/llama.cpp"
  mv "$part" "$deps/llama.cpp"
}

# fetch_jinja FOLDER: downloads the package. pip compares the checksum before any code of the
# package runs
fetch_jinja() {
  echo "llama-cpp-python==$jinja_version --hash=sha256:$jinja_sha256" >"$1/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary=llama-cpp-python --require-hashes \
    --dest "$1" --requirement "$1/requirements.txt"
}

unpack_jinja() {
  local inside=llama_cpp_python-$jinja_version/vendor/llama.cpp
  tar -xzf "$1/llama_cpp_python-$jinja_version.tar.gz" -C "$1" --strip-components=3 \
    "$inside/LICENSE" "$inside/common/jinja" "$inside/models/templates" \
    "$inside"/common/{json,unicode}.{h,cpp} &&
    rm "$1/llama_cpp_python-$jinja_version.tar.gz" "$1/requirements.txt"
}
