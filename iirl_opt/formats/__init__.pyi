from .dpomdp.problem import (
    DecPOMDP as DecPOMDP,
    read_dpomdp as read_dpomdp,
)
from .imported import (
    ImportedGame as ImportedGame,
)
from .kinds import (
    KINDS as KINDS,
    FileKind as FileKind,
    read_file as read_file,
    write_file as write_file,
)
from .saved import (
    read_npz as read_npz,
    write_npz as write_npz,
)

__all__ = [
    "KINDS",
    "DecPOMDP",
    "FileKind",
    "ImportedGame",
    "read_dpomdp",
    "read_file",
    "read_npz",
    "write_file",
    "write_npz",
]
