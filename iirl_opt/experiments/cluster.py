"""Clusters: the executor of a Dask cluster, for sweeps that outgrow one machine.

A *scheduler* of `dask.distributed` has an address, workers join it from any machine, and the cells
of a sweep go to them. A worker that is lost gives its cells to others. Workers need this package,
in the same version as here and with the same packages; files they do not need.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.util import find_spec

from iirl_opt.errors import InvalidArgument, MissingExtra
from iirl_opt.versions import versions

__all__ = ["dask_executor"]

# Seconds for an address to answer, and for the first worker to be there.
PATIENCE = 4

ALLOWED = "the address of a running Dask scheduler, such as tcp://127.0.0.1:8786"


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Yield an executor whose calls run on the workers of a Dask cluster.

    When the block ends, what still waits is cancelled; the cluster is left as it is.

    Parameters
    ----------
    address : of the scheduler: ``tcp://HOST:PORT``, or ``HOST:PORT``.

    Raises
    ------
    MissingExtra
        ``distributed`` is not installed.
    InvalidArgument
        Nobody answers at this address, no worker is there, or one has other versions of the
        packages that results depend on, or lacks one.
    """
    if find_spec("distributed") is None:
        raise MissingExtra("--scheduler", "sweep")
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    place = f"scheduler {address!r}"
    try:
        # A client that is made of what is no address would never be closed.
        if not get_address_host_port(address)[1]:
            raise ValueError
    except (AttributeError, TypeError, ValueError):
        raise InvalidArgument("scheduler", f"is {address!r}", ALLOWED, address) from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as problem:
        said = f"does not answer ({type(problem).__name__})"
        raise InvalidArgument(place, said, ALLOWED, address) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise InvalidArgument(place, "has no worker", "one at least", address) from None
        try:
            found = client.run(versions)
        except Exception as problem:
            said = f"has a worker that cannot compute ({type(problem).__name__}: {problem})"
            raise InvalidArgument(place, said, "workers with iirl-opt", address) from None
        here = versions()
        for worker, there in found.items():
            if there != here:
                said = f"has a worker, {worker}, with {there}"
                raise InvalidArgument(place, said, str(here), address)
        executor = client.get_executor(pure=False)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)
