"""The peer of mode `data`: PyTorch's DataLoader over JPEGs in memory.

    torch_loader.py LMDB PIPELINE DECODER TRANSPORT WORKERS SECONDS

PIPELINE is `train` (a random part resized to 224 x 224, flipped at random) or `test` (the shorter side resized to 256,
the centre 224 x 224); both subtract a mean and divide by a deviation. DECODER is `torchvision` or `turbojpeg` (by the
package simplejpeg). TRANSPORT is what workers send: `floats`, or `bytes`, which the main process converts batch by
batch. Prints images per second and the versions of torchvision and simplejpeg.
"""
import os
import sys
import time

import lmdb
import simplejpeg
import torch
import torchvision
from torchvision.transforms import v2

BATCH = 64
MEAN, DEVIATION = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]


def jpegs(path):
    """The JPEGs of a database of encoded Datums. Decoders ignore the fields after the end of the image."""
    with lmdb.open(path, readonly=True, lock=False) as environment, environment.begin() as transaction:
        return [bytes(value[value.index(b'\xff\xd8\xff'):]) for _, value in transaction.cursor()]


def by_torchvision(jpeg):
    data = torch.frombuffer(bytearray(jpeg), dtype=torch.uint8)
    return torchvision.io.decode_jpeg(data, mode=torchvision.io.ImageReadMode.RGB)


def by_turbojpeg(jpeg):
    return torch.from_numpy(simplejpeg.decode_jpeg(jpeg, 'RGB')).permute(2, 0, 1)


DECODERS = {'torchvision': by_torchvision, 'turbojpeg': by_turbojpeg}
PIPELINES = {
    'train': [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()],
    'test': [v2.Resize(256, antialias=True), v2.CenterCrop(224)]}
NORMALIZE = [v2.ToDtype(torch.float32), v2.Normalize(MEAN, DEVIATION)]


class Images(torch.utils.data.Dataset):
    """Repeats its images without end."""

    def __init__(self, records, decode, transform):
        self.records, self.decode, self.transform = records, decode, transform

    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        i %= len(self.records)
        return self.transform(self.decode(self.records[i])), i % 100


class Permutations(torch.utils.data.Sampler):
    """One random permutation of the records after another."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        while True:
            yield from torch.randperm(self.count).tolist()


def main():
    path, pipeline, decoder, transport, workers, seconds = sys.argv[1:]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    per_image, per_batch = PIPELINES[pipeline], []
    (per_image if transport == 'floats' else per_batch).extend(NORMALIZE)
    records = jpegs(path)
    loader = torch.utils.data.DataLoader(
        Images(records, DECODERS[decoder], v2.Compose(per_image)), batch_size=BATCH, num_workers=int(workers),
        sampler=Permutations(len(records)), persistent_workers=True, prefetch_factor=4)
    normalize = v2.Compose(per_batch) if per_batch else lambda images: images
    batches = iter(loader)

    def read(seconds):
        start, images = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            batch, _ = next(batches)
            batch = normalize(batch)
            assert batch.shape == (BATCH, 3, 224, 224) and batch.dtype == torch.float32
            images += BATCH
        return images / (time.perf_counter() - start)

    read(float(seconds) / 2)  # starts the workers and fills their queues
    print(read(float(seconds)), torchvision.__version__, simplejpeg.__version__)
    sys.stdout.flush()
    os._exit(0)  # does not wait for the workers to finish their batches


main()
