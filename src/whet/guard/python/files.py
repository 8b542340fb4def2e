"""Files: what reading one brings in, what writing one leaves behind, and where it is left."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.places import places
from whet.guard.python.loops import named_places
from whet.guard.python.values import words
from whet.guard.tables import api
from whet.guard.taint import harm
from whet.guard.taint.files import PROJECT, PROJECT_FILES, is_project, judge_kept
from whet.guard.taint.formats import ini
from whet.guard.taint.harm import judge_emptied
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark, comes_from
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, limited, strings, union

if TYPE_CHECKING:
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_OPEN = words("open io.open codecs.open gzip.open bz2.open lzma.open aiofiles.open pathlib.Path.open os.open")
_LIST = api("python", "list")
_COPY = words("shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move os.rename os.replace")
_HANDLES = words("sqlite3.connect zipfile.ZipFile tarfile.open")
_PERSONAL = expression(
    r"^(?:~|/root|/home/[^/]+|/users/[^/]+)[\\/](?:documents|desktop|pictures|photos|downloads|videos|movies|music|onedrive)\b",
    re.IGNORECASE,
)
_STORE = expression(
    r"(?:\.mozilla(?:[\\/]firefox)?|firefox[\\/]profiles|\.config[\\/](?:google-chrome|chromium|bravesoftware|gcloud|gh|op)"
    r"|application support[\\/](?:google[\\/]chrome|firefox|bravesoftware)"
    r"|(?:google[\\/]chrome|microsoft[\\/]edge)[\\/]user data"
    r"|[\\/]\.(?:ssh|aws|azure|kube|gnupg|docker|electrum|password-store))[\\/]?$",
    re.IGNORECASE,
)
"""Directories that hold secrets, taken as a whole."""
_MEDIA = words(
    "PIL.Image.open mutagen.File PyPDF2.PdfReader pypdf.PdfReader wave.open piexif.load exifread.process_file"
)
_TABLES = words(
    "pandas.read_csv pandas.read_json pandas.read_excel pandas.read_table pandas.read_parquet numpy.loadtxt"
)
_HOME_FILES = frozenset((Mark("secret", "files of the home directory", "~", whole=True),))


def key_of(value: Value, node: ast.expr | None) -> str:
    """What a path is told apart by: its text, or the name it goes by."""
    text = value.path or value.said
    if text.replace(HOLE, "").strip("/. "):
        return text
    if isinstance(node, ast.Name):
        return f"${node.id}"
    if isinstance(node, ast.Attribute):
        return f"$.{node.attr}"
    if isinstance(node, ast.Call) and node.args:
        return key_of(NOTHING, node.args[0])
    return ""


def is_home(value: Value) -> bool:
    """Whether a value is, or may be, a path for which `harm.is_home` holds."""
    return any(map(harm.is_home, strings(value.const, 20))) or any(
        mark.kind == "place" and mark.subject == "~" for mark in value.marks
    )


def read(reader: Reader, path: Value, node: ast.expr | None) -> frozenset[Mark]:
    """The marks of what is in a file."""
    marks = set()
    for text in strings(path.const, 50):
        if len(text) > 1000 or text.startswith(("http:", "https:")):
            continue
        found = [place for place in places(text) if place.kind == "secret"]
        if found and not text.endswith("authorized_keys"):
            marks.add(Mark("secret", found[-1].what, text, found[-1].grave, whole=True))
        elif _STORE.search(text):
            marks.add(Mark("secret", "a directory of secrets", text, grave=True, whole=True))
    for mark in path.marks:
        if mark.kind == "place" and mark.subject != "~":
            marks.add(Mark("secret", mark.what, mark.subject, mark.grave, whole=True))
        elif mark.kind == "place":
            marks |= _HOME_FILES
        elif mark.kind == "folder":
            marks.add(Mark("secret", "a person's files", "~/"))
        elif mark.kind == "listing":
            marks.add(Mark("file", mark.what, mark.subject, grave=True, whole=True))
    for mark in sorted(marks):
        reader.fact("source", mark.what, mark.subject, mark.grave)
    key = key_of(path, node)
    kept = reader.under(key)
    marks |= kept
    if not comes_from(marks, "fetched") and not comes_from(kept, "file"):
        marks.add(Mark("file", "a local file", key, whole=True))
    return frozenset(marks)


def written(reader: Reader, path: Value, node: ast.expr | None, content: Value, appends: bool = False) -> None:
    """Note what is written where, and judge the place."""
    text = path.path or path.said
    key = key_of(path, node)
    reader.files[key] = reader.files.get(key, NO_MARKS) | content.marks or NO_MARKS
    if content.text and len(reader.texts) < 200:
        reader.texts[key] = f"{reader.texts.get(key, '')}{content.text}"[:20_000]
    reader.report(judge_kept(content.marks, text))
    if not text or len(text) > 1000:
        return
    said = content.said or "\n".join(strings(content.const, 200))
    reader.judge_file(text, said, content.marks, appends=appends)
    if any(mark.kind in ("fetched", "decoded") for mark in content.marks):
        reader.fact("write", "fetched or decoded content", text)


def imported(reader: Reader, module: str) -> None:
    """A module by the name of a file that was written before is that file."""
    name = f"{module.partition('.')[0]}.py"
    for path, marks in reader.files.items():
        if marks and path.rpartition("/")[2] == name:
            reader.run_files(marks)


def files(reader: Reader, this: Call) -> Value | None:
    """Judge a call that has to do with files."""
    name, verb, node = this.name, this.verb, this.node
    first = node.args[0] if node.args else None
    if name in _OPEN:
        return _opened(reader, this)
    if name in _HANDLES:
        return _held(reader, this, first)
    if name.startswith("pathlib.") and verb in ("read_text", "read_bytes"):
        return Value(reader.data(this.owner), marks=read(reader, this.owner, _owner(this)))
    if name.startswith("pathlib.") and verb in ("write_text", "write_bytes"):
        _overwrites(reader, this.owner)
        if "overwrites" in reader.did and this.arg(0).name.startswith(("os.urandom", "secrets.token_bytes")):
            reader.hit("wipe-home", None, "", "The code overwrites the user's files with random data")
        written(reader, this.owner, _owner(this), this.arg(0, "data"), appends=_known_content(this.arg(0, "data")))
        return NOTHING
    if name in _LIST:
        return _listed(reader, this)
    if name in _COPY and len(this.args) >= 2:
        marks = read(reader, this.args[0], first)
        if is_home(this.args[0]):
            marks |= _HOME_FILES
        written(reader, this.args[1], node.args[1], Value(marks=marks))
        return Value(this.args[1].const, marks=this.args[1].marks)
    if name == "shutil.make_archive":
        return _archived(reader, this)
    if name in _MEDIA or name in _TABLES:
        what = "a picture or document" if name in _MEDIA else "a local file"
        found = read(reader, this.arg(0), first)
        return Value(
            name=f"{name}()",
            marks=frozenset(mark._replace(what=what) if mark.kind == "file" else mark for mark in found),
        )
    if name.startswith("configparser."):
        return _configured(reader, this, first)
    return _handle(reader, this, first)


def _held(reader: Reader, this: Call, first: ast.expr | None) -> Value:
    """An archive or a database that is opened."""
    path = this.arg(0, "database" if this.name.startswith("sqlite") else "file")
    if "fileobj" in this.words:
        path = this.words["fileobj"]
        first = next((word.value for word in this.node.keywords if word.arg == "fileobj"), None)
    reading = not any(letter in this.arg(1, "mode").said for letter in "wax")
    marks = read(reader, path, first) | path.marks if reading else NO_MARKS
    return Value(name=this.name, marks=marks, path=key_of(path, first))


def _archived(reader: Reader, this: Call) -> Value:
    """A directory that is packed."""
    root = this.arg(2, "root_dir")
    marks = read(reader, root, None) | named_places([root.const])
    if is_project(root.said or "."):
        marks |= PROJECT_FILES
    if is_home(root):
        marks |= _HOME_FILES
    path = f"{this.arg(0).said}.{this.arg(1, 'format').said}"
    written(reader, Value(path), None, Value(marks=marks))
    return Value(path, marks=marks)


def _configured(reader: Reader, this: Call, first: ast.expr | None) -> Value | None:
    """A parser of settings: what it holds is what the file holds that it reads."""
    target, old = _owner(this), this.owner
    if this.verb in ("get", "items") and isinstance(old.const, dict):
        section = old.const.get(this.arg(0).said, {})
        const = section.get(this.arg(1).said, UNKNOWN) if this.verb == "get" else list(map(list, section.items()))
        return Value(const, marks=old.marks)
    if this.verb not in ("read", "read_file", "read_string") or not isinstance(target, ast.Name):
        return None
    given = this.arg(0)
    marks = read(reader, given, first) if this.verb == "read" else given.marks
    text = reader.data(given) if this.verb == "read" else given.const
    const = ini(text) if isinstance(text, str) else UNKNOWN
    new = Value(const, old.name, old.marks | marks, old.hidden, old.path)
    this.scope.home(target.id).names[target.id] = new
    return NOTHING


def _known_content(content: Value) -> bool:
    """What was read, changed and is written back, or text that is fixed: an addition rather than a new document."""
    return any(mark.kind == "file" for mark in content.marks)


def _owner(this: Call) -> ast.expr | None:
    return this.node.func.value if isinstance(this.node.func, ast.Attribute) else None


def _opened(reader: Reader, this: Call) -> Value:
    node = this.node
    of_path = this.name == "pathlib.Path.open"
    path = this.owner if of_path else this.arg(0, "file")
    path_node = _owner(this) if of_path else (node.args[0] if node.args else None)
    mode = this.arg(0 if of_path else 1, "mode").said
    key = key_of(path, path_node)
    if any(letter in mode for letter in "wax+"):
        _overwrites(reader, path)
        if "w" in mode:
            reader.report(judge_emptied(strings(path.const, 5)))
        return Value(name="open.append" if "a" in mode or "+" in mode else "open", path=key)
    return Value(reader.data(path), "open", read(reader, path, path_node), path=key)


def _overwrites(reader: Reader, path: Value) -> None:
    """Note that a file which was found by walking through somebody's directories is written to."""
    if any(mark.kind in ("place", "folder") and mark.subject in ("~", "~/") for mark in path.marks):
        reader.note("overwrites")


def _listed(reader: Reader, this: Call) -> Value:
    path = this.owner if this.name.startswith("pathlib.") else this.arg(0)
    pattern = this.arg(0).said if this.name.startswith("pathlib.") and this.args else ""
    text = path.said
    marks = set(path.marks) | named_places([f"{text}/{pattern}" if pattern else text])
    if is_home(path):
        marks.add(Mark("place", "the home directory", "~"))
    elif _PERSONAL.match(text):
        marks.add(Mark("folder", "a person's folder", "~/"))
    elif _STORE.search(text):
        marks.add(Mark("place", "a directory of secrets", text, grave=True, whole=True))
    elif is_project(text) and (this.name == "os.walk" or "**" in f"{pattern}{text}" or this.verb == "rglob"):
        marks.add(PROJECT)
    shipped = reader.package.listing(text, pattern.lstrip("*")) if reader.package is not None and text else []
    if shipped and this.name != "os.walk":
        of_path = this.name.startswith("pathlib.")
        names = [path if of_path or "glob" in this.name else path.rpartition("/")[2] for path in shipped]
        return Value(names, "pathlib.Path" if of_path else "", frozenset(marks))
    inside = f"{text}/{HOLE}" if text else UNKNOWN
    const = [[text, [HOLE], [HOLE]]] if this.name == "os.walk" else [inside]
    return Value(const, "pathlib.Path" if this.name.startswith("pathlib.") else "", frozenset(marks))


def _handle(reader: Reader, this: Call, first: ast.expr | None) -> Value | None:
    """Methods of something opened, and functions that write into it."""
    verb, owner, node = this.verb, this.owner, this.node
    if verb in ("write", "writelines", "writestr", "add") and owner.path:
        if owner.name.startswith(("zipfile", "tarfile")) and verb != "writestr":
            content = Value(marks=read(reader, this.arg(0), first))
            if verb == "add" and is_project(this.arg(0).said):
                content = content.marked(*PROJECT_FILES)
        else:
            content = this.arg(1) if verb == "writestr" else this.arg(0)
        written(reader, Value(path=owner.path), None, content, appends=owner.name == "open.append")
        held = this.scope.find(owner.path[1:]) if owner.path.startswith("$") else None
        if held is not None and content.marks:
            this.scope.home(owner.path[1:]).names[owner.path[1:]] = held.marked(*content.marks)
        return NOTHING
    if verb in ("extractall", "extract") and owner.marks:
        written(reader, this.arg(0 if verb == "extractall" else 1, "path"), first, Value(marks=owner.marks))
        return NOTHING
    if this.name == "shutil.unpack_archive" and len(this.args) > 1:
        written(reader, this.args[1], node.args[1], Value(marks=read(reader, this.args[0], first)))
        return NOTHING
    if this.name == "dotenv.dotenv_values":
        return Value(marks=read(reader, this.args[0] if this.args else Value(".env"), first))
    if (
        this.name in ("json.dump", "pickle.dump", "yaml.dump", "yaml.safe_dump", "toml.dump", "plistlib.dump")
        and len(this.args) >= 2
        and this.args[1].path
    ):
        content = Value(dumped(this.args[0]), marks=this.args[0].marks)
        written(reader, this.args[1], None, content, appends=_known_content(content))
        return NOTHING
    if this.name == "shutil.copyfileobj" and len(this.args) >= 2:
        written(reader, this.args[1], None, Value(marks=union(this.args[:1])))
        return NOTHING
    if this.name == "print" and "file" in this.words:
        written(reader, this.words["file"], None, this.arg(0), appends=this.words["file"].name == "open.append")
        return NOTHING
    return None


def dumped(value: Value) -> str:
    """A constant as it will stand in the file."""
    import json

    if not limited(value.const):
        return ""
    try:
        return json.dumps(value.const, default=lambda _: HOLE, ensure_ascii=False)[:20_000]
    except (TypeError, ValueError, RecursionError):
        return ""
