from .arrays import (
    from_arrays as from_arrays,
)
from .dpomdp.pomdp import (
    read_pomdp as read_pomdp,
)
from .dpomdp.problem import (
    DecPOMDP as DecPOMDP,
    read_dpomdp as read_dpomdp,
)
from .dpomdp.writing import (
    write_dpomdp as write_dpomdp,
    write_pomdp as write_pomdp,
)
from .frames.files import (
    read_table as read_table,
    write_table as write_table,
)
from .frames.reading import (
    from_frame as from_frame,
)
from .frames.writing import (
    to_frame as to_frame,
)
from .gymnasium.outcomes import (
    Outcomes as Outcomes,
)
from .gymnasium.playing import (
    to_gymnasium as to_gymnasium,
)
from .gymnasium.reading import (
    GymnasiumGame as GymnasiumGame,
    from_gymnasium as from_gymnasium,
)
from .gymnasium.splits import (
    Doors as Doors,
    Setting as Setting,
    Split as Split,
    StartChoice as StartChoice,
    TableChoice as TableChoice,
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
from .node_link import (
    read_node_link as read_node_link,
    write_node_link as write_node_link,
)
from .prism.counterpart import (
    Counterpart as Counterpart,
    counterpart as counterpart,
)
from .prism.drn import (
    read_drn as read_drn,
)
from .prism.explicit import (
    read_explicit as read_explicit,
)
from .prism.storm import (
    from_stormpy as from_stormpy,
    read_prism as read_prism,
)
from .prism.writing import (
    write_drn as write_drn,
    write_explicit as write_explicit,
)
from .quantecon import (
    from_quantecon as from_quantecon,
    to_quantecon as to_quantecon,
)
from .saved import (
    read_npz as read_npz,
    write_npz as write_npz,
)

__all__ = [
    "KINDS",
    "Counterpart",
    "DecPOMDP",
    "Doors",
    "FileKind",
    "GymnasiumGame",
    "ImportedGame",
    "Outcomes",
    "Setting",
    "Split",
    "StartChoice",
    "TableChoice",
    "counterpart",
    "from_arrays",
    "from_frame",
    "from_gymnasium",
    "from_quantecon",
    "from_stormpy",
    "read_dpomdp",
    "read_drn",
    "read_explicit",
    "read_file",
    "read_node_link",
    "read_npz",
    "read_pomdp",
    "read_prism",
    "read_table",
    "to_frame",
    "to_gymnasium",
    "to_quantecon",
    "write_dpomdp",
    "write_drn",
    "write_explicit",
    "write_file",
    "write_node_link",
    "write_npz",
    "write_pomdp",
    "write_table",
]
