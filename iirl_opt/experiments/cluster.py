"""Clusters: the executor of a Dask cluster, for sweeps that outgrow one machine.

A *scheduler* of `dask.distributed` has an address, workers join it from any machine, and the cells
of a sweep go to them. A worker that is lost gives its cells to others; where none is left, somebody
has to start one, which is waited for, and not for ever. Workers need this package, in the same
version as here, with the same packages and the same Python; files they do not need.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from iirl_opt.checks import FUNCTION, between, optional
from iirl_opt.errors import InvalidArgument, MissingExtra
from iirl_opt.experiments.workers import NobodyComputes, SharingExecutor
from iirl_opt.versions import PACKAGES

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["PATIENCE", "dask_executor"]

PATIENCE = 60.0
"""Seconds that a sweep waits while its cluster has no worker."""

# Seconds for a scheduler to answer, and for the first worker to be there.
ANSWER = 4

ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ucxx?|wss?)://)?(?:\[[0-9a-fA-F:.]+\]|[^\s/:\[\]]+):0*[1-9]\d{0,4}/?"
)
ALLOWED = "the address of a running Dask scheduler, such as tcp://127.0.0.1:8786"


@contextmanager
def dask_executor(
    address: str, *, patience: float = PATIENCE, say: Callable[[str], object] | None = None
) -> Iterator[Executor]:
    """Yield an executor whose calls run on the workers of a Dask cluster.

    When the block ends, what still waits is cancelled; the cluster is left as it is.

    Parameters
    ----------
    address : of the scheduler: ``tcp://HOST:PORT``, or ``HOST:PORT``.
    patience : seconds. A sweep whose cluster has had no worker for so long, or whose scheduler has
        not answered, ends with `errors.WorkersLost`.
    say : called with a line when that waiting begins, and when it is over.

    Raises
    ------
    MissingExtra
        ``distributed`` is not installed.
    InvalidArgument
        Nobody answers at this address, no worker is there, or one has another Python or other
        versions of the packages that results depend on, or lacks one.

    **Cost** a connection, and a call to each worker that compares versions; then that of the calls.

    Examples
    --------
    >>> from iirl_opt.experiments import find_figure, run_figure
    >>> with dask_executor("tcp://localhost:8786") as cluster:  # doctest: +SKIP
    ...     found = run_figure(find_figure(7), executor=cluster)
    """
    if find_spec("distributed") is None:
        raise MissingExtra("--scheduler", "sweep")
    patience = between(0, 1e9, "(]")("patience", patience)
    say = optional(FUNCTION)("say", say)
    with _client_of(address) as client:
        place = f"scheduler {address!r}"
        _check_workers(client, place)
        executor = _DaskExecutor(client, place, patience, say or (lambda line: None))
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)


def _client_of(address: str) -> Client:
    """Return a client of a scheduler that answers, to be closed as a block."""
    # A client that is made of what is no address would never be closed; and `distributed`, which
    # knows it too, takes seconds to import.
    if not isinstance(address, str) or not ADDRESS.fullmatch(address):
        raise InvalidArgument("scheduler", f"is {address!r}", ALLOWED, address)
    from distributed import Client

    try:
        return Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as problem:
        said = f"does not answer ({type(problem).__name__})"
        raise InvalidArgument(f"scheduler {address!r}", said, ALLOWED, address) from None


def _check_workers(client: Client, place: str) -> None:
    """Refuse a cluster without workers, or with one that would compute something else."""
    try:
        client.wait_for_workers(1, timeout=ANSWER)
    except TimeoutError:
        raise InvalidArgument(place, "has no worker", "one at least") from None
    found: Any = client.get_versions(packages=list(PACKAGES))
    here = _versions_of(found["client"])
    for worker, said in found["workers"].items():
        there = _versions_of(said)
        for name, version in here.items():
            if there[name] != version:
                wrong = f"has a worker, {worker}, with {name} {there[name] or 'not installed'}"
                raise InvalidArgument(place, wrong, f"{name} {version}", there[name])


def _versions_of(said: Any) -> dict[str, str | None]:
    """Return the versions that must agree, of what Dask says about a process."""
    python = ".".join(said["packages"]["python"].split(".")[:2])
    return {"Python": python} | {name: said["packages"][name] for name in PACKAGES}


class _DaskExecutor(SharingExecutor):
    """The calls of one client, who shares functions and looks after workers."""

    def __init__(
        self, client: Client, place: str, patience: float, say: Callable[[str], object]
    ) -> None:
        self._client, self._place, self._patience, self._say = client, place, patience, say
        self._calls: Executor = client.get_executor(pure=False)
        self._shared: list[Any] = []  # what is let go of here would go from the workers
        self._alone_since: float | None = None

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Give a call to the cluster."""
        return self._calls.submit(function, *args, **more)

    def share(self, function: Callable[..., Any]) -> Any:
        """Return the future of a function; calls get what it stands for, each worker once.

        The scheduler keeps how it is made: a worker that comes later, or in place of all that
        were lost, gets it too. It is known by its digest: shared again, it is not sent again.
        """
        import dask
        from distributed.protocol.pickle import dumps, loads

        packed = dumps(function)
        key = f"iirl-opt-{sha256(packed).hexdigest()}"
        # Dask warns of what is large since it might go with every call: it goes with this one.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):
            self._shared.append(self._client.submit(loads, packed, key=key))
        return self._shared[-1]

    def watch(self) -> None:
        """Look for workers, and give up when there has been none for too long.

        Raises
        ------
        NobodyComputes
            There has been none, or no scheduler that answers.
        """
        trouble, now = self._trouble(), time.monotonic()
        if trouble is None:
            if self._alone_since is not None:
                self._say("there is a worker again")
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
            self._say(f"{trouble}; waiting {self._patience:g} s for one")
        elif now - self._alone_since >= self._patience:
            raise NobodyComputes(f"{trouble}, for {self._patience:g} s")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what waits, or wait for it."""
        self._calls.shutdown(wait and not cancel_futures)

    def _trouble(self) -> str | None:
        scheduler: Any = self._client.scheduler
        try:
            workers = self._client.sync(scheduler.ncores, callback_timeout=ANSWER)
        except (OSError, TimeoutError):
            return f"{self._place} does not answer"
        return None if workers else f"{self._place} has no worker"
