"""Where MNIST's 10,000 test digits (LeCun, Cortes, Burges) are fetched from, and their checksums."""

from __future__ import annotations

ADDRESS = "https://raw.githubusercontent.com/fgnt/mnist/ae608a02b796c9ee908c082585a5f006fe05258e/"
FOLDER = "mnist"
IMAGES, LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
SHA_256 = {
    IMAGES: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    LABELS: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
