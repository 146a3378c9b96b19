"""Models of PRISM and Storm: explicit files, DRN, and through Storm programs and JANI.

Two kinds of files are read and written here, by everybody: PRISM's explicit files (``.tra`` with
``.sta``, ``.lab``, ``.srew`` and ``.trew`` beside it, see `iirl_opt.formats.prism.explicit`) and
Storm's DRN (see `iirl_opt.formats.prism.drn`). Programs (``.nm``, ``.pm``, ``.sm``, ``.prism``) and
``.jani`` are built by Storm, through stormpy (see `iirl_opt.formats.prism.storm`). How choices
become actions says `iirl_opt.formats.prism.choices`; what becomes of a property,
`iirl_opt.formats.prism.counterpart`.

**Probabilities** are read as they are written, decimals and fractions exactly; those of a choice
must sum to one within 1e-9, and are divided by their exact sum. **Rewards** are sums in exact
numbers, rounded once: a state reward is earned in the state, a choice reward with the choice, a
transition reward in expectation. A reward structure is what the file says, a cost stays a cost.

Source: the manual of PRISM (Kwiatkowska, Norman & Parker, CAV 2011) and its ``io`` package; the
DRN writer of Storm (Hensel, Junges, Katoen, Quatmann & Volk, STTT 2022).
"""
