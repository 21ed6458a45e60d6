#!/usr/bin/env bash
# From a fresh clone to a trained net: installs, builds, converts Fashion-MNIST, trains LeNet, resumes it, classifies.
#   --detect   draws a dataset of objects in images, trains a small SSD, interrupts and resumes it, draws its boxes
#   --read     draws strips of digits and trains a small CRNN that reads them, interrupted and resumed likewise
# Steps whose results exist are skipped, so that a second run takes seconds. Delete snapshots/ to train again.
# Builds only the targets that these datasets need; `cmake --build build` builds the rest.
set -euo pipefail
cd "$(dirname "$0")/.."

cortado=build/bin/cortado
idx=/usr/share/datasets/fashion-mnist
solver=models/lenet/solver.prototxt
weights=snapshots/lenet_iter_$(sed -n 's/^max_iter: //p' "$solver").caffemodel

case "${1-}" in
  '') packages=() targets=(cortado) ;;
  --detect) packages=(python3-numpy python3-opencv libopencv-dev) targets=(cortado cortado_opencv) ;;
  --read) packages=(python3-numpy python3-opencv python3-h5py libhdf5-dev) targets=(cortado cortado-hdf5) ;;
  *) echo "usage: scripts/quickstart.sh [--detect | --read]" >&2; exit 2 ;;
esac

step() { # step NAME COMMAND...: runs it and prints how long it took
  local name=$1 begin=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - begin)) s"
}

build() {
  cmake --preset release | grep 'CUDA code'
  cmake --build --preset release --parallel "$(nproc)" --target "${targets[@]}"
}

convert() { # convert PREFIX NAME
  [ -d "data_sets/fashion_mnist_$2_lmdb" ] || "$cortado" convert idx \
    "$idx/$1-images-idx3-ubyte.gz" "$idx/$1-labels-idx1-ubyte.gz" -o "data_sets/fashion_mnist_$2_lmdb"
}

convert_all() {
  mkdir -p data_sets
  convert train train
  convert t10k test
}

train() { # two thirds of the iterations, then the rest from the snapshot; resumes an interrupted training
  mkdir -p snapshots
  sed 's/^max_iter: .*/max_iter: 4000/' "$solver" > snapshots/first.prototxt
  "$cortado" train --solver=snapshots/first.prototxt --snapshot=auto
  "$cortado" train --solver="$solver" --snapshot=auto
}

score() { # score FOLDER WEIGHTS OUTPUT MINIMUM FORMAT FLAG...: tests, prints OUTPUT by FORMAT, fails below MINIMUM
  "$cortado" test --quiet --model="$1/train_val.prototxt" --weights="$2" "${@:6}" --json > snapshots/score.json
  /usr/bin/python3 - snapshots/score.json "$3" "$4" "$5" <<'END'
import json, sys
path, output, least, words = sys.argv[1:]
value = json.load(open(path))['outputs'][output]
print(words % ('%.4f' % value))
sys.exit(value < float(least) and 'quickstart.sh: the value is below %s' % least)
END
}

classify() {
  # The first test image: 28 x 28 bytes after a header of 16 bytes.
  {
    printf 'P5 28 28 255\n'
    head -c 800 <(zcat "$idx/t10k-images-idx3-ubyte.gz" 2>/dev/null) | tail -c 784
  } > data_sets/boot.pgm
  "$cortado" classify --quiet --model=models/lenet/deploy.prototxt --weights="$weights" \
    --scale=0.00390625 --labels=models/lenet/fashion_mnist_labels.txt data_sets/boot.pgm
}

detector=models/ssd_fashion
detector_weights=snapshots/ssd_fashion_iter_$(sed -n 's/^max_iter: //p' $detector/solver.prototxt).caffemodel

draw_objects() {
  mkdir -p data_sets
  [ -d data_sets/detection ] || /usr/bin/python3 scripts/dev/draw_detection_set.py data_sets/detection
  local part
  for part in train test; do
    [ -d data_sets/detection_${part}_lmdb ] || "$cortado" convert annoset data_sets/detection/ \
      data_sets/detection/$part.txt --encoded --label-map-file=data_sets/detection/labelmap.prototxt \
      -o data_sets/detection_${part}_lmdb
  done
}

train_in_two() { # train_in_two FOLDER: interrupts the training once by SIGINT, then resumes it from its snapshot
  mkdir -p snapshots
  timeout --signal=INT 60 "$cortado" train --solver="$1/solver.prototxt" --snapshot=auto || [ $? -eq 124 ]
  "$cortado" train --solver="$1/solver.prototxt" --snapshot=auto
}

detect() {
  "$cortado" detect --quiet --model=$detector/deploy.prototxt --weights="$detector_weights" \
    --labels=data_sets/detection/labelmap.prototxt data_sets/detection/images/test_0000[0-4].png -o found --force
  echo 'the images with their boxes are in found/'
}

reader=models/crnn_digits
reader_weights=snapshots/crnn_digits_iter_$(sed -n 's/^max_iter: //p' $reader/solver.prototxt).caffemodel

draw_digits() {
  [ -f data_sets/digits/sheet.png ] || /usr/bin/python3 scripts/dev/draw_digit_set.py data_sets/digits
}

step install scripts/install_deps.sh quickstart "${packages[@]}"
step build build
if [ "${1:-}" = --detect ]; then
  step draw draw_objects
  [ -f "$detector_weights" ] || step train train_in_two $detector
  step test score $detector "$detector_weights" detection_eval 0.80 'mean average precision %s on 1,000 images' --epoch
  step detect detect
  exit
fi
if [ "${1:-}" = --read ]; then
  step draw draw_digits
  [ -f "$reader_weights" ] || step train train_in_two $reader
  step test score $reader "$reader_weights" accuracy 0.95 '%s of 1,000 strips read without an error' --iterations=20
  exit
fi
step convert convert_all
[ -f "$weights" ] || step train train
step test score models/lenet "$weights" accuracy 0.90 'test accuracy %s on 10,000 images' --iterations=100
step classify classify
