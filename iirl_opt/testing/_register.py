"""Where hypothesis's entry point was: installations from before it moved still ask here."""

from importlib import import_module

# By its name, since what stands after this room is not imported in it.
register = import_module("iirl_opt._hypothesis").register
