#!/usr/bin/env bash
# Installs the packages of package.sh, and the wheel of wheel.sh if it exists, in clean Debian 12 roots, and tests them
# there: trains, checks nets, compiles programs against the library. Needs root and Debian's archive; takes a few
# minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=build-package/packages
roots=build-package/roots
scripts/install_deps.sh debootstrap lintian

clean_root() {  # clean_root NAME: makes a minimal root at $roots/NAME
  mkdir -p $roots
  [ -f $roots/clean.tar ] || {
    debootstrap --variant=minbase bookworm $roots/clean >/dev/null
    tar -C $roots/clean -cf $roots/clean.tar.part . && mv $roots/clean.tar.part $roots/clean.tar
    rm -rf $roots/clean
  }
  rm -rf "${roots:?}/$1"
  mkdir "$roots/$1"
  tar -C "$roots/$1" -xf $roots/clean.tar
  cp tests/packages/train_on_arrays.py "$roots/$1/root"
}

inside() {  # inside NAME COMMAND: runs COMMAND in that root
  echo "+ $2"
  chroot "$roots/$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    bash -euc "cd /root; $2"
}

# Fails on lintian's errors, except those about the maintainer and the distribution, which are for Debian's own
# packages.
lintian --fail-on error --suppress-tags bogus-mail-host,initial-upload-closes-no-bugs $packages/*.deb

clean_root debian
cp $packages/*.deb "$roots/debian/root"
cp -r examples/library "$roots/debian/root/examples"
mount -t proc proc "$roots/debian/proc"
trap 'umount "$roots/debian/proc"' EXIT
inside debian 'apt-get -qq update && apt-get -qq install -y --no-install-recommends ./*.deb >/dev/null'
inside debian 'cortado --version && cortado devices'
inside debian 'python3 train_on_arrays.py'
inside debian 'cortado check solver.prototxt && cortado summary --model=deploy.prototxt | tail -3'
inside debian "python3 -c 'import caffe; print(caffe.Net(\"deploy.prototxt\", caffe.TEST).outputs)'"
inside debian 'apt-get -qq install -y --no-install-recommends g++ cmake make pkgconf >/dev/null'
inside debian 'cmake -S examples -B examples/build >/dev/null && cmake --build examples/build '
inside debian 'head -c 25088 /dev/urandom > pixels  # 32 x 28 x 28'
for program in classify_c classify; do
  inside debian "examples/build/$program deploy.prototxt bars_iter_60.caffemodel pixels"
done
umount "$roots/debian/proc"
trap - EXIT

shopt -s nullglob
for wheel in build-wheel/cortado-*.whl; do
  clean_root wheel
  cp "$wheel" "$roots/wheel/root"
  inside wheel 'apt-get -qq update'
  inside wheel 'apt-get -qq install -y --no-install-recommends python3-venv ca-certificates >/dev/null'
  inside wheel 'python3 -m venv new && new/bin/pip install --quiet ./*.whl'
  inside wheel 'new/bin/python train_on_arrays.py && new/bin/cortado --version'
done
echo 'test_packages.sh: all packages install and run'
