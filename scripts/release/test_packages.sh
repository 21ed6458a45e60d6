#!/usr/bin/env bash
# Installs what was built in bare roots and tests it there: trains, checks nets, compiles programs against the library.
# The packages of package.sh are tested on Debian 12, each wheel of wheel.sh on the release that has its Python. Needs
# root and Debian's archive; takes a few minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/release/roots.sh
packages=build-package/packages
roots=build-package/roots
scripts/install_deps.sh debootstrap lintian

clean_root() {  # clean_root SUITE NAME: a bare root at $roots/NAME with the script that trains
  bare_root "$1" "$roots/$2"
  cp tests/packages/{train_on_arrays,python_layer}.py "$roots/$2/root"
}

test_debian_packages() {
  # Fails on lintian's errors, except those about the maintainer and the distribution, which are for Debian's own
  # packages.
  lintian --fail-on error --suppress-tags bogus-mail-host,initial-upload-closes-no-bugs $packages/*.deb

  clean_root bookworm debian
  cp $packages/*.deb "$roots/debian/root"
  cp -r examples/library "$roots/debian/root/examples"
  inside $roots/debian 'apt-get -qq update && apt-get -qq install -y --no-install-recommends ./*.deb >/dev/null'
  inside $roots/debian 'cortado --version && cortado devices'
  inside $roots/debian 'python3 train_on_arrays.py && python3 python_layer.py'
  inside $roots/debian 'cortado check solver.prototxt && cortado summary --model=deploy.prototxt | tail -3'
  inside $roots/debian "python3 -c 'import caffe; print(caffe.Net(\"deploy.prototxt\", caffe.TEST).outputs)'"
  inside $roots/debian 'apt-get -qq install -y --no-install-recommends g++ cmake make pkgconf >/dev/null'
  inside $roots/debian 'cmake -S examples -B examples/build >/dev/null && cmake --build examples/build '
  inside $roots/debian 'head -c 25088 /dev/urandom > pixels  # 32 x 28 x 28'
  for program in classify_c classify; do
    inside $roots/debian "examples/build/$program deploy.prototxt bars_iter_60.caffemodel pixels"
  done
}

test_wheel() {  # test_wheel FILE
  local suite=bookworm
  [[ $1 != *-cp313-* ]] || suite=trixie
  clean_root $suite wheel
  cp "$1" "$roots/wheel/root"
  inside $roots/wheel 'apt-get -qq update'
  inside $roots/wheel 'apt-get -qq install -y --no-install-recommends python3-venv ca-certificates >/dev/null'
  inside $roots/wheel 'python3 -m venv new && new/bin/pip install --quiet ./*.whl'
  inside $roots/wheel 'new/bin/python train_on_arrays.py && new/bin/python python_layer.py && new/bin/cortado --version'
}

shopt -s nullglob
debs=($packages/*.deb) wheels=(build-wheel/cortado-*.whl)
[ ${#debs[@]} -gt 0 ] || [ ${#wheels[@]} -gt 0 ] || {
  echo 'test_packages.sh: nothing to test; run scripts/package.sh or scripts/release/wheel.sh' >&2
  exit 2
}
[ ${#debs[@]} -eq 0 ] || test_debian_packages
for wheel in "${wheels[@]}"; do test_wheel "$wheel"; done
echo "test_packages.sh: ${#debs[@]} packages and ${#wheels[@]} wheels install and run"
