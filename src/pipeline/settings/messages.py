"""Messages of libraries turned into one line for people."""

from __future__ import annotations

import dis
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pipeline.host.errors import PipelineError
from pipeline.host.passwords import masked
from pipeline.settings.command_line import choices_in_files, experiments_with, groups_with, plain_choices, typed_choice
from pipeline.settings.nearest import joined, no_such_choice

UNKNOWN_CHOICE = re.compile(
    r"Could not find '(?P<group>[^']+)/(?P<name>[^'/]+)'.*?"
    r"Available options in '[^']+':\s*(?P<options>.*?)\n(?:Config|$)",
    re.S,
)
NO_DEFAULT = re.compile(
    r"Could not override '(?P<group>[^']+)'.*?To append to your default list use (?P<typed>[^\n]+)", re.S
)
TWICE = re.compile(r"(?P<group>\S+) appears more than once in the final defaults list")
TWO_VALUES = re.compile(r"Multiple values for (?P<group>\S+)\. To override a value use 'override [^:]+: (?P<name>.+?)'")
UNKNOWN_KEY = re.compile(r"full_key: (?P<key>\S+)")
NUMBERS = {"Integer": "a whole number", "Float": "a number"}
NO_NUMBER = re.compile(
    r"(?:Value|container) '(?P<value>.*?)' of type '\w+' "
    r"(?:could not be converted to|is incompatible with type hint|to) "
    rf"'?(?P<kind>{'|'.join(NUMBERS)}|(?:Optional\[)?Union\[int, float\])"
)
OURS, OF_NUMBERS = {"data", "models", "pipeline"}, {"numpy", "scipy", "torch"}
PLAIN = re.compile(r"(?!(?:true|false|null|nan|inf)$)[a-z_][\w-]*", re.IGNORECASE)  # else a setting needs quotes
NO_WORD, BACKSLASHED = re.compile(r"[\\()\[\]{}:=, \t]"), r"\\\g<0>"  # what has a meaning in a key
WHERE = "HYDRA_FULL_ERROR=1 shows where"
MOST_NAMED = 3  # experiments
NO_LIST = re.compile(r"Invalid value assigned: \w+ is not a ListConfig, list or tuple")
NO_VALUE = re.compile(r"field '\w+' is not Optional")


def expected_errors() -> tuple[type[Exception], ...]:
    """Returns the errors that a person can mend, told in one line; any other is a fault of ours and shows its
    traceback."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    tracking = sys.modules.get("mlflow.exceptions")  # what is not imported has raised nothing
    stores = () if tracking is None else (tracking.MlflowException,)
    return (ValueError, OSError, HydraException, OmegaConfBaseException, *stores)


def unknown_key(text: str) -> str | None:
    """Says which settings do not exist where the text is OmegaConf's message about an unknown key, and names those that
    do exist where the schema tells them. Returns None for any other text."""
    match = UNKNOWN_KEY.search(text)
    if match is None or not re.search(r"is not in struct|not in '", text):
        return None
    from pipeline.settings.unknown import not_settings

    return not_settings(match["key"], sys.argv[1:])


def wrong_kind(text: str) -> str | None:
    """Says what a value must be where the text is OmegaConf's message about a value that is no number or no list, or
    about null where there must be a value. Returns None for any other text."""
    key = UNKNOWN_KEY.search(text)
    number = NO_NUMBER.search(text)
    if key is None:
        return None
    if number:
        return f"{key['key']}={number['value']} must be {NUMBERS.get(number['kind'], NUMBERS['Float'])}"
    if NO_LIST.search(text):
        return f"{key['key']} must be a list, as in {key['key']}=[…]"
    return f"{key['key']} must have a value, not null" if NO_VALUE.search(text) else None


def several_values(text: str) -> str | None:
    """Says how several values are typed where the text is Hydra's message about a comma. Returns None for any other
    text."""
    match = re.search(r"Ambiguous value for argument '(?P<given>[^\n]*?)'\s*1\. To use it as a list", text)
    if match is None:
        return None
    key, _, value = match["given"].partition("=")
    quoted = f"'{key}=\"{value}\"'"
    return f"{match['given']} has a comma; add -m to run a job for each value, or quote a single one: {quoted}"


def unknown_choice(group: str, name: str, options: Sequence[str], arguments: Sequence[str]) -> str:
    """Says that a group does not have the choice `name`, and which other group of the command line's recipe has it;
    without one, the group's own options."""
    meant = " or ".join(f"{other}={name}" for other in groups_with(name, arguments))
    return f"{group}={name} is unknown; did you mean {meant}?" if meant else no_such_choice(group, name, options)


def unknown_choices(group: str, name: str, options: Sequence[str], arguments: Sequence[str]) -> str:
    """Says what `unknown_choice` says of a group that Hydra names, and of all other groups of the command line whose
    choice there is not either."""
    others = [(other, one, choices_in_files(other, arguments)) for other, one in plain_choices(arguments)]
    told = [unknown_choice(group, name, options, arguments)]
    told += [unknown_choice(*own, arguments) for own in others if own[0] != group and own[2] and own[1] not in own[2]]
    return joined(told)


def nothing_to_replace(group: str, typed: str, arguments: Sequence[str]) -> str:
    """Says how a choice of a group that the defaults leave out is typed. typed: the choice with + before it. arguments:
    the command line; an experiment of its recipe that has the group is named, up to three."""
    having = experiments_with(group, arguments) if typed_choice("experiment", arguments) is None else []
    named = " or ".join(f"+experiment={name}" for name in having) if len(having) <= MOST_NAMED else ""
    there = f" ({named} has one)" if named else ""
    return f"{group} has no choice here to replace{there}, so put + before it to add one: {typed}"


def plus_mistaken(text: str) -> str | None:
    """Says how a choice is typed where the text is Hydra's message about a group that needs + before it, since the
    defaults leave it out, or that takes none, since they have it; of a choice that there is not, which there are.
    Returns None for any other text."""
    if lacking := NO_DEFAULT.search(text):
        options, name = choices_in_files(lacking["group"], sys.argv[1:]), lacking["typed"].partition("=")[2]
        if options and name not in options:
            return unknown_choices(lacking["group"], name, options, sys.argv[1:])
        return nothing_to_replace(lacking["group"], lacking["typed"], sys.argv[1:])
    if repeated := TWICE.search(text):
        group = repeated["group"]
        typed = next((word[1:] for word in sys.argv[1:] if word.startswith(f"+{group}=")), f"{group}=…")
        return f"{group} has a choice here already, so leave out the + to replace it: {typed}"
    if doubled := TWO_VALUES.search(text):
        group, name = doubled["group"], doubled["name"]
        return f"{group} has a choice here already, so leave out the + to replace it: {group}={name}"
    return None


def one_line(error: BaseException) -> str:
    """Returns the message of an error, also of Hydra's composition errors and their causes, folded into a single line
    without passwords."""
    text = "\n".join(part for part in (str(error) or type(error).__name__, str(error.__cause__ or "")) if part)
    choice = UNKNOWN_CHOICE.search(text)
    if choice:
        group, name, options = choice["group"], choice["name"], choice["options"].split()
        return unknown_choices(group, name, options, sys.argv[1:])
    known = several_values(text) or plus_mistaken(text) or unknown_key(text) or wrong_kind(text)
    if known:
        return known
    if error.__cause__ is not None and str(error.__cause__) in str(error):
        text = str(error)
    text = re.sub(r"\n\s*(full_key|object_type|reference_type)[:=][^\n]*", "", text)
    return masked(re.sub(r"\s*\n\s*", ": ", text.strip()))


def is_unexplained(error: BaseException) -> bool:
    """Returns whether a ValueError was raised by Python itself or by a library of numbers, as for shapes that do not
    fit.

    No `raise` of ours, nor of an extension, has chosen the words of such an error. An error about the text of a file
    that is not UTF-8 does not count: a person can mend the file.
    """
    entry = error.__traceback__
    if entry is None or not isinstance(error, ValueError) or isinstance(error, UnicodeError):
        return False
    while entry.tb_next is not None:
        entry = entry.tb_next
    package = str(entry.tb_frame.f_globals.get("__name__")).partition(".")[0]
    if package in OURS:
        return entry.tb_frame.f_code.co_code[entry.tb_lasti] != dis.opmap["RAISE_VARARGS"]
    return package in OF_NUMBERS


def quoted(text: str, mark: str = "'") -> str:
    """Returns a text between the marks " or ' as Hydra needs it, which OmegaConf may replace parts of.

    A mark takes a backslash. The backslashes just before it and at the end are doubled; others stay.
    """
    escaped = re.sub(rf"(\\*){mark}", rf"\1\1\\{mark}", text)
    return mark + re.sub(r"(\\+)$", r"\1\1", escaped) + mark


def in_quotes(text: str) -> str:
    """Returns a text as `quoted` gives it, of which OmegaConf replaces nothing: what it would takes a backslash too."""
    return quoted(re.sub(r"(\\*)(\$\{)", r"\1\1\\\2", text), '"')


def in_a_setting(value: Any) -> str:
    """Returns a value as the command line needs it, None as null, also inside a list, a tuple or a mapping.

    A text stands in quotes where it is no plain word. A key takes backslashes, since Hydra takes no quotes for it.
    """
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(in_a_setting, value))}]"
    if isinstance(value, dict):
        pairs = (f"{NO_WORD.sub(BACKSLASHED, str(key))}: {in_a_setting(own)}" for key, own in value.items())
        return f"{{{', '.join(pairs)}}}"
    if not isinstance(value, str):
        return str(value).lower()
    return value if PLAIN.fullmatch(value) else in_quotes(value)


@contextmanager
def of_section(section: str) -> Iterator[None]:
    """Raises a ValueError of the block again with `section` in front. The arguments that the error names are settings
    of that section.

    A DataError is raised as one, with the arguments to give as settings; any other ValueError as PipelineError. An
    error that nobody chose the words of stays as it is.

    The function is for objects built of a whole section and for data. Where a single setting, or a choice, is what a
    check is about, `pipeline.host.errors.said_of` names that.
    """
    try:
        yield
    except PipelineError:
        raise
    except ValueError as error:
        from data.base import DataError

        if is_unexplained(error):
            raise
        if isinstance(error, DataError):
            settings = [shlex.quote(f"{section}.{name}={in_a_setting(value)}") for name, value in error.give.items()]
            said: ValueError = DataError(" ".join([f"{section}: {error.message}", *settings]))
        else:
            said = PipelineError(f"{section}: {error}")
        raise said.with_traceback(error.__traceback__) from error.__cause__


def line_of_run(error: BaseException) -> str:
    """Returns the line for an error of `python -m pipeline`, which says how to see the place of one that is
    unexplained."""
    return f"{one_line(error)}; {WHERE}" if is_unexplained(error) else one_line(error)
