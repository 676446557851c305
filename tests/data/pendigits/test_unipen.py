"""UNIPEN: round trips through text and .Z, errors that name file and line, and no other exception for any bytes."""

import string

import numpy as np
import pytest
import unlzw3
from hypothesis import given, settings
from hypothesis import strategies as st

from data.base import DataError
from data.pendigits import unipen
from data.pendigits.unipen import Digit, read_digits

HEADER = ".INCLUDE\tpen.doc\n\n.COMMENT free text\n.HIERARCHY DIGIT\n"
EIGHT = """.SEGMENT DIGIT    0 ? "8"
.COMMENT 8 12  224
.PEN_DOWN
 267  333
 266  -34
.PEN_UP
.DT 100
.PEN_DOWN
 1.5  2
.PEN_UP
.DT 100
"""
TWO = """
.SEGMENT DIGIT 1 ? "2"
.COMMENT 2 ann 1
.PEN_DOWN
 5 6
.PEN_UP
.DT 100
"""
VALID = HEADER + EIGHT + TWO
COORDINATES = st.integers(-500, 500)
DIGITS = st.builds(
    Digit,
    label=st.text(string.digits + string.ascii_letters, min_size=1, max_size=3),
    writer=st.text(string.digits + string.ascii_letters, min_size=1, max_size=5),
    strokes=st.lists(
        st.lists(st.tuples(COORDINATES, COORDINATES), min_size=1, max_size=5).map(np.array), min_size=1, max_size=3
    ),
)


def text_of(digit, place) -> str:
    lines = [f'.SEGMENT DIGIT {place} ? "{digit.label}"', f".COMMENT {digit.label} {digit.writer} {place}"]
    for stroke in digit.strokes:
        lines += [".PEN_DOWN", *(f" {x}  {y}" for x, y in stroke), ".PEN_UP", ".DT 100"]
    return "\n".join([*lines, "", ""])


def compressed(content: bytes) -> bytes:
    """A .Z of literal 9-bit codes only, the table cleared before it would need codes of 10 bits."""
    stream = b"\x1f\x9d\x90"
    for begin in range(0, len(content), 248):
        # With the clear code there are 249 at most; groups of eight codes fill whole 9-byte blocks.
        codes = [*content[begin : begin + 248], 256]
        codes += [0] * (-len(codes) % 8)
        packed = sum(code << (9 * place) for place, code in enumerate(codes))
        stream += packed.to_bytes(len(codes) * 9 // 8, "little")
    return stream


def write(folder, content: bytes | str, name="pen.tra"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_same(found, expected):
    assert [(digit.label, digit.writer) for digit in found] == [(digit.label, digit.writer) for digit in expected]
    for digit, other in zip(found, expected, strict=True):
        assert [stroke.tolist() for stroke in digit.strokes] == [stroke.tolist() for stroke in other.strokes]


def test_labels_writers_and_strokes_are_read_in_order(tmp_path):
    expected = [
        Digit("8", "12", [np.array([(267, 333), (266, -34)]), np.array([(1.5, 2)])]),
        Digit("2", "ann", [np.array([(5, 6)])]),
    ]
    found = read_digits(write(tmp_path, VALID))
    assert_same(found, expected)
    assert [stroke.shape for stroke in found[0].strokes] == [(2, 2), (1, 2)]
    assert_same(read_digits(write(tmp_path, VALID.replace("\n", "\r\n"))), expected)
    assert_same(read_digits(write(tmp_path, compressed(VALID.encode()))), expected)


@settings(deadline=None, max_examples=40)
@given(digits=st.lists(DIGITS, min_size=1, max_size=4), packed=st.booleans())
def test_digits_written_out_are_read_back_exactly(tmp_path_factory, digits, packed):
    content = (HEADER + "".join(text_of(digit, place) for place, digit in enumerate(digits))).encode()
    path = write(tmp_path_factory.mktemp("unipen"), compressed(content) if packed else content)
    assert_same(read_digits(path), digits)


@pytest.mark.parametrize("statement", sorted(unipen.IGNORED))
def test_documentation_is_ignored_wherever_it_stands(tmp_path, statement):
    plain = read_digits(write(tmp_path, VALID))
    commented = VALID.replace(" 267", f"{statement} 1 2\n 267").replace(".SEGMENT", f"{statement} any text\n.SEGMENT")
    assert_same(read_digits(write(tmp_path, commented)), plain)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (".HIERARCHY DIGIT", ".COORD X Y T", r"line 4: '\.COORD X Y T' before the first \.SEGMENT"),
        (".HIERARCHY DIGIT", "7 8", r"line 4: '7 8' before the first \.SEGMENT"),
        ('DIGIT    0 ? "8"', 'WORD 0 ? "8"', r"line 5: expected \.SEGMENT DIGIT .* found '\.SEGMENT WORD 0 \? \"8\"'"),
        ('DIGIT    0 ? "8"', "DIGIT    0 ? 8", r"line 5: expected \.SEGMENT DIGIT"),
        (".COMMENT 8 12  224\n", "", r"line 16: the segment of line 5 ends here without \.COMMENT 8 WRITER SAMPLE"),
        (".COMMENT 8 12  224", ".COMMENT 8 12", r"line 6: expected \.COMMENT 8 WRITER SAMPLE, found '\.COMMENT 8 12'"),
        (".COMMENT 8 12  224", ".COMMENT 3 12 224", r"line 6: expected \.COMMENT 8 WRITER SAMPLE"),
        (".COMMENT 8 12  224\n.PEN_DOWN\n", ".COMMENT 8 12 224\n", r"line 7: a point while the pen is up"),
        (".PEN_DOWN\n 267", ".PEN_UP\n 267", r"line 7: \.PEN_UP while the pen is up; a \.PEN_DOWN is missing"),
        (" 266  -34", ".PEN_DOWN", r"line 9: \.PEN_DOWN while the pen is down; a \.PEN_UP is missing"),
        (" 5 6\n", "", r"line 20: \.PEN_UP after a stroke without a point"),
        (" 266  -34", " 266  3x4", r"line 9: expected two numbers x y, found '266 3x4'"),
        (" 266  -34", " 266", r"line 9: expected two numbers x y, found '266'"),
        (" 266  -34", " 266 34 1", r"line 9: expected two numbers x y, found '266 34 1'"),
        (" 266  -34", " 266 nan", r"line 9: expected two numbers x y, found '266 nan'"),
        (" 266  -34", " 2_6 34", r"line 9: expected two numbers x y, found '2_6 34'"),
        (" 266  -34", " 266 1e3", r"line 9: expected two numbers x y, found '266 1e3'"),
        (" 266  -34", " 266 " + "9" * 999, r"line 9: '266 9{36}' is beyond any tablet"),
        (" 266  -34", ".PRESSURE 3", r"line 9: '\.PRESSURE 3' is no statement that this reader knows"),
        (".PEN_UP\n.DT 100\n.PEN_DOWN", ".PEN_UP\n.PEN_DOWN", r"line 11: \.PEN_DOWN right after \.PEN_UP"),
        (".PEN_UP\n.DT 100\n.PEN_DOWN", ".PEN_UP\n.DT 20\n.PEN_DOWN", r"line 11: expected one \.DT 100 .* '\.DT 20'"),
        (".PEN_UP\n.DT 100\n.PEN_DOWN", ".PEN_UP\n.DT\n.PEN_DOWN", r"line 11: expected one \.DT 100"),
        (" 266  -34", ".DT 100", r"line 9: expected one \.DT 100 after each \.PEN_UP"),
        (EIGHT[EIGHT.index(".PEN_DOWN") :], "", r"line 8: the segment of line 5 ends here without a stroke"),
        ("267", "267\x00", r"line 8: expected two numbers x y, found '267\\x00 333'"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(tmp_path, old, new, message):
    assert old in VALID
    with pytest.raises(DataError, match=rf"pen\.tra, {message}"):
        read_digits(write(tmp_path, VALID.replace(old, new, 1)))


@settings(deadline=None, max_examples=60)
@given(kept=st.integers(0, len(VALID) - 1))
def test_a_file_cut_short_gives_the_digits_before_or_an_error_at_its_last_line(tmp_path_factory, kept):
    """Only a cut right after a digit or a stroke that is complete cannot be told from a whole file."""
    text = VALID[:kept]
    path = write(tmp_path_factory.mktemp("unipen"), text)
    body = text[text.index(".SEGMENT") :].rstrip() if ".SEGMENT" in text else ""
    if body.endswith(".DT 100"):
        assert len(read_digits(path)) == body.count('? "')
        return
    with pytest.raises(DataError, match=r"pen\.tra(, line \d+)?: .*(cut short|expected|\.SEGMENT|statement)") as found:
        read_digits(path)
    assert ", line" not in str(found.value) or f", line {len(text.splitlines())}:" in str(found.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"pen\.tra: no \.SEGMENT in the file; put the original file there"),
        (HEADER.encode(), r"pen\.tra: no \.SEGMENT in the file"),
        (HEADER.encode() + b"\xff\xfe", r"pen\.tra, line 5: byte 0xff is not text"),
        (b"\x1f\x9d", r"pen\.tra, of 2 bytes: damaged \.Z \(Invalid Input: Length of input too short"),
        (b"\x1f\x9d\xff\x00\x00\x00", r"pen\.tra, of 6 bytes: damaged \.Z \(Invalid Header Flags"),
        (b"\x1f\x9d\x90\xff\xff\xff", r"pen\.tra, of 6 bytes: damaged \.Z \(Invalid Data: First code must be a lit"),
        (compressed(VALID.encode())[:150], r"pen\.tra, line \d+: .*"),
    ],
)
def test_files_that_are_not_what_they_should_be(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_digits(write(tmp_path, content))


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(DataError, match=r"none\.tra: cannot be read \(.*\); put the original file there"):
        read_digits(tmp_path / "none.tra")
    with pytest.raises(DataError, match=r"cannot be read \("):
        read_digits(tmp_path)


@pytest.mark.parametrize("content", [VALID.encode(), compressed(VALID.encode())])
def test_too_large_a_file_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.setattr(unipen, "MOST_BYTES", len(VALID) - 1)
    with pytest.raises(DataError, match=rf"pen\.tra: more than {len(VALID) - 1} bytes of text or \.Z; cut the file"):
        read_digits(write(tmp_path, content))


def test_text_is_refused_for_its_size_once_decompressed(tmp_path, monkeypatch):
    """Codes that repeat what was just written: 1, 2, 3 … bytes from 9 bits each."""
    codes = [48, *range(257, 257 + 60)]
    packed = sum(code << (9 * place) for place, code in enumerate(codes)).to_bytes(70, "little")
    path = write(tmp_path, b"\x1f\x9d\x90" + packed)
    assert unlzw3.unlzw(path.read_bytes()).startswith(b"0" * 1000)
    monkeypatch.setattr(unipen, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match=r"pen\.tra: more than 1000 bytes of text or \.Z"):
        read_digits(path)


@st.composite
def mutated(draw) -> bytes:
    """A valid file, plain or .Z, some of whose bytes were overwritten, and perhaps cut."""
    content = bytearray(draw(st.sampled_from([VALID.encode(), compressed(VALID.encode())])))
    for place, byte in draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)):
        content[place] = byte
    return bytes(content[: draw(st.integers(0, len(content)))])


def digits_or_message(path) -> tuple[list[Digit], str]:
    try:
        return read_digits(path), ""
    except DataError as error:
        return [], str(error)


LINES = st.lists(st.sampled_from([*VALID.splitlines(), ".DT", '.SEGMENT "', "1e999 1", "\x00", "."]), max_size=30)


@settings(deadline=None, max_examples=300)
@given(content=st.binary(max_size=200) | mutated() | LINES.map("\n".join).map(str.encode))
def test_any_bytes_give_digits_or_an_error_of_one_line_with_the_files_name(tmp_path_factory, content):
    path = write(tmp_path_factory.mktemp("unipen"), content, "fuzzed.tra")
    digits, message = digits_or_message(path)
    assert message == "" or ("fuzzed.tra" in message and len(message.splitlines()) == 1)
    assert (digits == []) == (message != "")
    assert all(digit.label and digit.writer and digit.strokes for digit in digits)
    assert all(len(stroke) and np.isfinite(stroke).all() for digit in digits for stroke in digit.strokes)
