"""Named tuples and cached properties that are made quickly: `from whet.records import NamedTuple, cached_property`.

A class of `typing.NamedTuple` takes 0.3 ms to make, most of it for compiling every annotation and the constructor. A
prompt hook without a server loads more than a hundred of them, so they were a fifth of its time. Here annotations stay
text, and the constructor is made when many objects are. Everything else is as in `typing`, and a type checker sees that
class. `cached_property` is that of `functools`, without the other modules that one loads. Modules that are loaded when
a hook or a common command starts use these.
"""

from __future__ import annotations

__all__ = ["NamedTuple", "cached_property"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property
    from typing import NamedTuple
else:
    from _collections import _tuplegetter

    _FEW = 8
    """Number of objects that are made without a constructor: most classes have fewer, and one takes as long."""
    _MADE = {}
    """Number of calls of each class without a constructor."""

    class _Record(tuple):
        """The base of all named tuples."""

        __slots__ = ()

        def __new__(cls, /, *values, **named):
            made = _MADE[cls] = _MADE.get(cls, 0) + 1
            if made < _FEW:
                fields, defaults = cls._fields, cls._field_defaults
                rest = fields[len(values) :]
                if len(rest) == len(fields) - len(values) and all(name in named or name in defaults for name in rest):
                    values += tuple([named.pop(name) if name in named else defaults[name] for name in rest])
                    if not named:
                        return tuple.__new__(cls, values)
            _add_constructor(cls)
            return cls.__new__(cls, *values, **named)

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named):
            if unknown := named.keys() - set(self._fields):
                raise ValueError(f"Got unexpected field names: {sorted(unknown)!r}")
            return tuple.__new__(type(self), map(named.pop, self._fields, self))

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(shown)})"

        def __getnewargs__(self):
            return tuple(self)

    FunctionType = type(lambda: None)
    _CONSTRUCTORS = {}

    def _constructor(count):
        """Return the code of a constructor for this number of fields: one is compiled, others are renamed copies."""
        if count not in _CONSTRUCTORS:
            names = "".join(f"a{number}, " for number in range(count))
            _CONSTRUCTORS[count] = eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__  # noqa: S307  made of numbers
        return _CONSTRUCTORS[count]

    def _add_constructor(cls):
        """Add the constructor to the class that has the fields."""
        kind = next(kind for kind in cls.__mro__ if "_fields" in vars(kind))
        code = _constructor(len(kind._fields))
        code = code.replace(
            co_varnames=("_cls", *kind._fields), co_name="__new__", co_qualname=f"{kind.__qualname__}.__new__"
        )
        defaults = tuple(kind._field_defaults.values())
        new = FunctionType(code, {"_new": tuple.__new__}, "__new__", defaults)
        new.__annotations__ = kind.__annotations__
        kind.__new__ = new

    class _Maker(type):
        """Makes the class of a class statement with the base `NamedTuple`."""

        def __new__(cls, name, bases, members):
            fields = tuple(members.get("__annotations__", ()))
            defaults = {field: members[field] for field in fields if field in members}
            if list(defaults) != list(fields[len(fields) - len(defaults) :]):
                raise TypeError(f"In {name}, a field without a default follows one with a default.")
            members |= {field: _tuplegetter(at, None) for at, field in enumerate(fields)}
            members |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            return type(name, (_Record, *bases[1:]), members)

    _STATEMENT = type.__new__(_Maker, "NamedTuple", (), {})

    class NamedTuple:
        """A base in class statements, as in `typing`."""

        @staticmethod
        def __mro_entries__(_bases):
            return (_STATEMENT,)

    NamedTuple = NamedTuple()

    class cached_property:  # noqa: N801  as in `functools`
        """A property that is computed once, and then an attribute of the object."""

        def __init__(self, func):
            self.func = func
            self.__doc__ = func.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self.func(instance)
            return value
