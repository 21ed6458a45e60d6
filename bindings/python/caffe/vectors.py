"""pycaffe's types of lists; python_layer has those of blobs."""


class BoolVec(list):
    """Flags."""


class DtypeVec(list):
    """Floating-point numbers."""


class IntVec(list):
    """Indices of blobs."""


class LayerVec(list):
    """The layers of a net."""


class NetVec(list):
    """The test nets of a solver."""


class StringVec(list):
    """Names of blobs or layers."""
