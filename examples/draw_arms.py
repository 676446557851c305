"""Draw the arms of sentiment by translation as pictures, from what their plans say.

python examples/draw_arms.py      into docs/figures/mctn
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from models.mctn.arms import MODALITIES, Plan, plan_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "figures" / "mctn"
ARMS = (  # one of each kind, in the order of the thesis's figure 2.5, then controls
    "cyclic-t-v", "simple-t-v", "bothways-t-v", "double-t-v", "cyclic-t-v-a", "simple-t-v-a", "double-t-v-a",
    "concat-tv-a", "paired-t-av", "none-t", "none-tva", "shuffled-t-v",
)  # fmt: skip
MODEL = "cyclic-t-v-a"  # is drawn once more with the names of its parts
COLUMN, ROW, MARGIN = 104, 66, 10  # pixels between places, and around them
BOX, RADIUS = (78, 30), 17  # width and height of a sequence, radius of an encoding
FILLS = {"there": "#dbe6f4", "back": "#f6dfc4", "second": "#d5efe3", "": "#ffffff"}  # of models of their own weights
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left} 0 {width} {height}" width="{width}" height="{height}"
 font-family="Helvetica, Arial, sans-serif" font-size="{size}" text-anchor="middle" role="img">
<title>{title}</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0,0 L8,4 L0,8 z"/></marker></defs>
<rect x="{left}" width="{width}" height="{height}" rx="6" fill="#ffffff"/>"""


class Place(NamedTuple):
    """Is where something stands: column and row of the picture."""

    column: float
    row: float


class Node(NamedTuple):
    """Is a sequence (a box) or an encoding (a circle). learned: whether it is made while learning alone. part: the
    model whose weights make it. loss: the index of the loss that compares it with the truth."""

    place: Place
    words: str
    shape: str = "box"
    learned: bool = False
    part: str = ""
    loss: str = ""


class Arrow(NamedTuple):
    """Leads from one node to another. learned: while learning alone. words: of what makes it."""

    source: Place
    target: Place
    learned: bool
    words: str = ""


@dataclass
class Scene:
    """Holds what is drawn."""

    nodes: list[Node] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def put(self, *nodes: Node) -> None:
        self.nodes += nodes

    def lead(self, words: str, *places: Place, learned: bool = False) -> None:
        """Arrows from each place to the next one."""
        self.arrows += [Arrow(one, other, learned, words) for one, other in itertools.pairwise(places)]


def named(stream: str) -> str:
    """Returns the names of the modalities of a stream."""
    return ", ".join(MODALITIES[letter] for letter in stream)


def scene_of(plan: Plan) -> Scene:
    """Returns what an arm does: on top what is read to predict, from left to right; below what is made of it."""
    own, first = Scene(), Place(1, 0)
    own.put(Node(Place(0, 0), named(plan.source)), Node(first, "E", "circle", part="there"))
    own.lead("encoder", Place(0, 0), first)
    other = " of another sample" if plan.shuffled else ""
    for shift, target in enumerate(plan.targets):
        place = Place(1 + shift, 1)
        own.put(Node(place, f"≈ {named(target)}{other}", learned=True, part="there", loss="t"))
        own.lead("decoder", first, place, learned=True)
    if plan.back == "double":
        last = put_double(own, plan)
    else:
        put_back(own, plan)
        last = first
    put_readout(own, plan, last)
    return own


def put_back(own: Scene, plan: Plan) -> None:
    """The way back into the source, from the translation or from the true target."""
    if not plan.back:
        return
    again, back = Place(1, 2), Place(0, 2)
    begin = Place(1, 1)
    if plan.back == "bothways":
        begin = Place(2, 2)
        own.put(Node(begin, named(plan.targets[0])))
    own.put(
        Node(again, "E′", "circle", True, "there"), Node(back, f"≈ {named(plan.source)}", "box", True, "there", "c")
    )
    own.lead("same encoder", begin, again, learned=True)
    own.lead("same decoder", again, back, learned=True)


def put_double(own: Scene, plan: Plan) -> Place:
    """A second model from the target into the source; returns where both encodings are joined."""
    begin, again, both = Place(0, 2), Place(1, 2), Place(2, 1)
    target, source = named(plan.targets[0]), named(plan.source)
    own.put(Node(begin, target), Node(again, "E′", "circle", part="back"))
    own.put(Node(Place(1, 3), f"≈ {source}", "box", True, "back", "t"), Node(both, "E; E′", "circle"))
    own.lead("encoder", begin, again)
    own.lead("decoder", again, Place(1, 3), learned=True)
    own.lead("", Place(1, 0), both)
    own.lead("", again, both)
    return both


def put_readout(own: Scene, plan: Plan, last: Place) -> None:
    """The second level, if there is one, and what reads the sentiment."""
    if plan.second:
        level, translation = Place(last.column + 1, last.row), Place(last.column + 1, last.row + 1)
        own.put(Node(level, "E₂", "circle", part="second"))
        own.put(Node(translation, f"≈ {named(plan.second)}", "box", True, "second", "2"))
        own.lead("encoder", last, level)
        own.lead("decoder", level, translation, learned=True)
        last = level
    end = Place(last.column + 1, last.row)
    own.put(Node(end, "sentiment", loss="p"))
    own.lead("readout", last, end)


def drawn(own: Scene, title: str, *, parts: bool, scale: float = 1.0) -> str:
    """Returns the picture as SVG; parts: with the names of the parts and of the losses."""
    middles = [(pixels(node.place, scale), width_of(node) / 2) for node in own.nodes]
    left = round(min(x - half for (x, _), half in middles)) - MARGIN
    width = round(max(x + half for (x, _), half in middles)) + MARGIN - left + (24 if parts else 0)
    height = round(max(y for (_, y), _ in middles)) + RADIUS + MARGIN + (16 if parts else 0)
    lines = [HEAD.format(left=left, width=width, height=height, size=13, title=escape(title))]
    lines += [line for arrow in own.arrows for line in arrow_lines(own, arrow, parts, scale)]
    lines += [line for node in own.nodes for line in node_lines(node, parts, scale)]
    return "\n".join([*lines, "</svg>", ""])


def pixels(place: Place, scale: float) -> tuple[float, float]:
    """Returns the middle of a place."""
    return MARGIN + BOX[0] / 2 + scale * COLUMN * place.column, MARGIN + RADIUS + ROW * place.row


def width_of(node: Node) -> float:
    """Returns how wide a box is: by its words, where these are long."""
    return max(BOX[0], 6.9 * len(node.words) + 14)


def radius_of(node: Node) -> int:
    """Returns the radius of a circle: two encodings need more room."""
    return RADIUS + (4 if ";" in node.words else 0)


def node_lines(node: Node, parts: bool, scale: float) -> Iterator[str]:
    x, y = pixels(node.place, scale)
    line = 'stroke="#000000"' + (' stroke-dasharray="4 3"' if node.learned else "")
    look = f'fill="{FILLS[node.part]}" {line}'
    if node.shape == "circle":
        yield f'<circle cx="{x:g}" cy="{y:g}" r="{radius_of(node)}" {look}/>'
    else:
        wide = width_of(node)
        yield f'<rect x="{x - wide / 2:g}" y="{y - BOX[1] / 2:g}" width="{wide:g}" height="{BOX[1]}" rx="7" {look}/>'
    yield f'<text x="{x:g}" y="{y + 4.5:g}">{escape(node.words)}</text>'
    if parts and node.loss:
        at = (x, y + BOX[1]) if node.place.column == 0 else (x + BOX[0] / 2 + 12, y + 4.5)
        index = f'<tspan dy="3" font-size="10">{node.loss}</tspan>'
        yield f'<text x="{at[0]:g}" y="{at[1]:g}" font-style="italic">L{index}</text>'


def arrow_lines(own: Scene, arrow: Arrow, parts: bool, scale: float) -> Iterator[str]:
    ends = [next(node for node in own.nodes if node.place == place) for place in (arrow.source, arrow.target)]
    begin, end = edge(ends[0], ends[1], scale), edge(ends[1], ends[0], scale)
    dashes = ' stroke-dasharray="5 4"' if arrow.learned else ""
    path = f'x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    yield f'<line {path} stroke="#000000" stroke-width="1.3"{dashes} marker-end="url(#tip)"/>'
    if parts and arrow.words:
        x, y, flat = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2, arrow.source.row == arrow.target.row
        place = f'x="{x:.1f}" y="{y - 6:.1f}"' if flat else f'x="{x + 6:.1f}" y="{y + 4:.1f}" text-anchor="start"'
        yield f'<text {place} font-size="11" fill="#444444">{arrow.words}</text>'


def edge(node: Node, toward: Node, scale: float) -> tuple[float, float]:
    """Returns where the line between two nodes' middles leaves the first one, two pixels outside."""
    (x, y), (to_x, to_y) = pixels(node.place, scale), pixels(toward.place, scale)
    across, down = to_x - x, to_y - y
    length = (across**2 + down**2) ** 0.5
    if node.shape == "circle":
        share = radius_of(node) / length
    else:
        share = min(half / abs(way) for half, way in ((width_of(node) / 2, across), (BOX[1] / 2, down)) if way)
    share += 2 / length
    return x + share * across, y + share * down


def words_for(arm: str) -> str:
    """Returns what a picture shows, for those who do not see it."""
    plan = plan_of(arm)
    return f"arm {arm}: reads {named(plan.read)}" + (f", learns from {named(plan.letters)}" if plan.targets else "")


def pictures() -> dict[str, str]:
    """Returns every picture by the name of its file."""
    own = {f"{arm}.svg": drawn(scene_of(plan_of(arm)), words_for(arm), parts=False) for arm in ARMS}
    own["model.svg"] = drawn(scene_of(plan_of(MODEL)), f"the model, {words_for(MODEL)}", parts=True, scale=1.75)
    return own


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print((FOLDER / name).relative_to(ROOT))


if __name__ == "__main__":
    main()
