"""Fields of requests: omitted ones, and the encoding of bytes."""
from __future__ import annotations

import base64
import enum
from typing import Any, Collection, Dict, Mapping

# Parameters of methods that are not fields.
_OF_THE_CALL = ("self", "answer_seconds", "webhook_id", "volume_id")
# Names that are keywords of Python, or that say little in it.
_NAMES = {"start": "from", "end": "to"}


class Unset(enum.Enum):
    """The default of fields where None is a value of its own, JSON's null."""

    UNSET = "unset"


UNSET = Unset.UNSET


def request_fields(parameters: Mapping[str, Any], nullable: Collection[str] = ()) -> Dict[str, Any]:
    """The fields of a request from the parameters of a method, which have their names: without those that were left out."""
    fields = {}
    for name, value in parameters.items():
        if name in _OF_THE_CALL or value is UNSET or (value is None and name not in nullable):
            continue
        fields[_NAMES.get(name, name)] = _files(value) if name == "files" else value
    return fields


def _files(files: Mapping[str, Any]) -> Dict[str, Any]:
    """Keeps texts, and encodes bytes in base64."""
    return {path: {"base64": base64.b64encode(content).decode()} if isinstance(content, bytes) else content
            for path, content in files.items()}
