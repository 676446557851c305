"""Models of one's own: what travels with a saved one so that it loads elsewhere, and how its class is found again."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import Distribution, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from torch import nn

CODE = "code"  # folder of the sources, beside the parameters
TRAVELS = "models"  # this package, which every logged model has with it
NEEDED = ("torch", "numpy", "scipy")  # by this package, so every logged model names them
STAYS = ("data", "pipeline")
MOST_BYTES = 16 * 2**20  # of the sources of one model
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*")


class Baggage(NamedTuple):
    """Holds the modules and packages that are copied, each by its name, and the installed packages that are named
    instead."""

    sources: dict[str, Path]
    requirements: list[str]


def top(name: str) -> str:
    """Returns the name of the package or module at the top of a dotted name."""
    return name.partition(".")[0]


def check_class(model: nn.Module) -> None:
    """Raises ValueError, saying what to do, for a model that its class and `architecture` could not build again."""
    kind = type(model)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__ == "__main__":
        raise ValueError(
            f"{name} cannot be imported elsewhere; define it in a file of its own and import it from there"
        )
    if "." in kind.__qualname__:
        raise ValueError(f"{name} is defined inside a class or function; define it at the top level of its module")
    architecture = getattr(model, "architecture", None)
    if not isinstance(architecture, dict):
        raise ValueError(
            f"{name} has no architecture, so it could not be loaded; set self.architecture = {{…}} in its __init__, "
            "the keyword arguments that build it again"
        )
    try:
        json.dumps(architecture)
        inspect.signature(kind).bind(**architecture)
    except TypeError as error:
        raise ValueError(f"{name}(**architecture) cannot be built: {error}; mend self.architecture") from error


def baggage(model: nn.Module) -> Baggage:
    """Returns what the model's class needs beside this package, torch, numpy and scipy, by the imports in its source.

    A package that was installed from an index is named, with its version; a module or package of one's own is copied,
    and so is what it imports. Raises ValueError for an import of `data` or `pipeline`, which stay behind, and for
    sources that are too large.
    """
    sources: dict[str, Path] = {}
    requirements: set[str] = set()
    waiting, seen = [(top(type(model).__module__), True)], {TRAVELS, *NEEDED, *STAYS, *sys.stdlib_module_names}
    while waiting:
        name, at_once = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        installed = distribution_of(name)
        place = None if installed else source_of(name)
        if installed:
            requirements.add(f"{installed.name}=={installed.version.partition('+')[0]}")
        elif place:
            sources[name] = place
            waiting += imports_of(place, at_once)
    refuse_large(sources)
    return Baggage(sources, sorted(requirements))


def refuse_large(sources: dict[str, Path]) -> None:
    """Raises ValueError where the sources together have more than `MOST_BYTES`."""
    if sum(file.stat().st_size for place in sources.values() for file in files_of(place)) > MOST_BYTES:
        raise ValueError(
            f"{', '.join(sources)} would travel with the model and has more than {MOST_BYTES >> 20} MiB of files; "
            "define the model in a file or package without data"
        )


@cache
def _distributions() -> Any:
    return packages_distributions()


def distribution_of(name: str) -> Distribution | None:
    """Returns the distribution that installed a package; None for one's own files, also where pip installed them
    from a folder of this machine."""
    for project in _distributions().get(name, ()):
        known = distribution(project)
        origin = urlsplit(json.loads(known.read_text("direct_url.json") or "{}").get("url", ""))
        if origin.scheme != "file" or not Path(unquote(origin.path)).exists():
            return known
    return None


def source_of(name: str) -> Path | None:
    """Returns the file of a module, or the folder of a package; None where there is none, as of an import that is
    optional.

    Raises ValueError for a package in several folders, and for a module without Python source.
    """
    module = sys.modules.get(name)
    spec = module.__spec__ if module else find_spec(name)
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    if len(folders) > 1:
        raise ValueError(f"the package {name} lies in several folders, {', '.join(folders)}; give it an __init__.py")
    place = Path(folders[0] if folders else str(spec.origin))
    if not folders and place.suffix != ".py":
        raise ValueError(f"{name} has no Python source that could travel with the model ({place}); install it by pip")
    return place


def files_of(place: Path) -> list[Path]:
    """Returns the file itself, or what is copied of a package."""
    if place.is_file():
        return [place]
    files: list[Path] = []
    for folder, folders, names in os.walk(place):
        left_out = NOT_COPIED(folder, [*folders, *names])
        folders[:] = sorted(set(folders) - left_out)
        files += (Path(folder, name) for name in sorted(set(names) - left_out))
    return files


def imports_of(place: Path, needed: bool) -> list[tuple[str, bool]]:
    """Returns the packages that a source imports, and whether it takes them to be imported itself.

    Raises ValueError for one of `STAYS` where the source is `needed` and takes it.
    """
    packages: list[tuple[str, bool]] = []
    for file in files_of(place):
        if file.suffix == ".py":
            for imported, at_once in imports(ast.parse(file.read_bytes())):
                if at_once and needed and imported in STAYS:
                    raise ValueError(
                        f"{file.name} imports {imported}, which does not travel with a model; define the model in a "
                        "file that imports models, and what has to do with data in another"
                    )
                packages.append((imported, at_once and needed))
    return sorted(packages, key=lambda pair: not pair[1])


def imports(node: ast.AST, at_once: bool = True) -> Iterator[tuple[str, bool]]:
    """Yields the packages that are imported, and whether with the module itself, not only once a function of it is
    called."""
    if isinstance(node, ast.Import):
        yield from ((top(alias.name), at_once) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield top(str(node.module)), at_once
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    for child in node.orelse if isinstance(node, ast.If) and typing_only else ast.iter_child_nodes(node):
        yield from imports(child, at_once and not inside)


def copy_sources(sources: dict[str, Path], folder: Path) -> None:
    """Copies the sources into `folder/code`, so that they can be imported from there by their names."""
    for name, place in sources.items():
        target = folder / CODE / (place.name if place.is_file() else name)
        target.parent.mkdir(exist_ok=True)
        if place.is_file():
            shutil.copyfile(place, target)
        else:
            shutil.copytree(place, target, ignore=NOT_COPIED, dirs_exist_ok=True)


def class_of(name: str, folder: Path, extensions: Sequence[str]) -> type[nn.Module]:
    """Returns the class of a model that was saved in `folder`, by its full name.

    It must be a module of torch that is defined where its name says, in this package or in one of `extensions`; of
    these the source in `folder/code` is imported, so run. Raises ValueError for any other, and where another source of
    an extension is imported in this process already.
    """
    module, _, attribute = name.rpartition(".")
    allowed = {top(extension) for extension in extensions}
    if top(module) not in {TRAVELS, *allowed}:
        advice = f"; extensions=['{top(module)}'] runs the source in its folder {CODE}, if you trust it"
        raise ValueError(f"{folder} names {name}, which is not a model of this project{advice}")
    if top(module) != TRAVELS:
        import_travelled(module, folder / CODE)
    try:
        candidate = getattr(importlib.import_module(module), attribute, None)
    except ImportError as error:
        raise ValueError(f"{folder} names {name}, which cannot be imported ({error})") from error
    if not (inspect.isclass(candidate) and issubclass(candidate, nn.Module) and candidate.__module__ == module):
        raise ValueError(f"{folder} names {name}, which is no model")
    return candidate


def import_travelled(module: str, code: Path) -> None:
    """Imports a module from the sources that travelled, unless it is imported already, from the same source.

    Raises ValueError for one that cannot be imported, and for another source.
    """
    if module not in sys.modules:
        with first_on_path(code):
            try:
                importlib.import_module(module)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                raise ValueError(f"{module}, which the model needs, cannot be imported ({reason})") from error
    for place in sorted(code.iterdir()) if code.is_dir() else ():
        loaded = sys.modules.get(place.stem)
        if loaded is not None and file_contents(place) != file_contents(source_of(place.stem) or place):
            raise ValueError(
                f"another {place.stem} than the one that travelled with the model is imported "
                f"({source_of(place.stem)}); load the model in a process of its own, or save it anew"
            )


def file_contents(place: Path) -> dict[str, bytes]:
    """Returns the content of each file of a module or package, by its path within it."""
    return {str(file.relative_to(place)): file.read_bytes() for file in files_of(place)}


@contextmanager
def first_on_path(code: Path) -> Iterator[None]:
    """Puts the sources first while they are imported, and last afterwards: for imports inside of functions.

    No bytecode is written beside them.
    """
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    importlib.invalidate_caches()
    sys.path.insert(0, str(code))
    try:
        yield
    finally:
        sys.path.remove(str(code))
        sys.path.append(str(code))
        sys.dont_write_bytecode = written
