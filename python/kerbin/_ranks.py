"""Fits by the processes of MPI, each with some of the rows, through mpi4py."""

import ctypes

import numpy as np

from ._library import EXCHANGE, GATHER, SUM, Ranks

_MOST = 1 << 30  # MPI counts in 32 bits: bytes, or numbers, that go at once


def _bytes_at(address, count):
    """The memory as an array; MPI takes no NULL."""
    if count == 0:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))


def _ends(counts):
    return [0, *np.cumsum(np.asarray(counts, dtype=np.int64)).tolist()]


class Group:
    """The processes of a communicator, as a context of the library knows them.

    What fails in a callback is kept in `raised`: the library then stops.
    """

    def __init__(self, comm):
        from mpi4py import MPI

        self.comm, self.raised = comm, None
        self._mpi = MPI
        # They must live as long as the context.
        self._calls = (
            SUM(self._guarded(self._sum)),
            GATHER(self._guarded(self._gather)),
            EXCHANGE(self._guarded(self._exchange)),
        )
        add, gather, exchange = self._calls
        host = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.ranks = Ranks(
            rank=comm.Get_rank(),
            ranks=comm.Get_size(),
            sum=add,
            gather=gather,
            exchange=exchange,
            nearby=host.Get_size(),
        )
        host.Free()

    def _guarded(self, function):
        def call(_, *args):
            try:
                function(*args)
            except BaseException as error:  # told to the caller once the library has stopped
                self.raised = error
                return 1
            return 0

        return call

    def _sum(self, numbers, count):
        values = _bytes_at(numbers, 8 * count).view(np.int64)
        for at in range(0, count, _MOST):
            part = values[at : at + _MOST]
            self.comm.Allreduce(self._mpi.IN_PLACE, [part, self._mpi.INT64_T], self._mpi.SUM)

    def _gather(self, mine, out, bytes_of):
        counts = bytes_of[: self.comm.Get_size()]
        ends, me = _ends(counts), self.comm.Get_rank()
        mine, out = _bytes_at(mine, counts[me]), _bytes_at(out, ends[-1])
        if ends[-1] <= _MOST:
            places = [out, (counts, ends[:-1]), self._mpi.BYTE]
            self.comm.Allgatherv([mine, self._mpi.BYTE], places)
            return
        out[ends[me] : ends[me + 1]] = mine
        for k in range(len(counts)):
            for at in range(ends[k], ends[k + 1], _MOST):
                part = out[at : min(at + _MOST, ends[k + 1])]
                self.comm.Bcast([part, self._mpi.BYTE], root=k)

    def _exchange(self, to, to_bytes, out, from_bytes):
        size, me, byte = self.comm.Get_size(), self.comm.Get_rank(), self._mpi.BYTE
        gives, takes = to_bytes[:size], from_bytes[:size]
        give_ends, take_ends = _ends(gives), _ends(takes)
        to, out = _bytes_at(to, give_ends[-1]), _bytes_at(out, take_ends[-1])
        most = self.comm.allreduce(max(give_ends[-1], take_ends[-1]), self._mpi.MAX)
        if most <= _MOST:
            self.comm.Alltoallv(
                [to, (gives, give_ends[:-1]), byte], [out, (takes, take_ends[:-1]), byte]
            )
            return
        for step in range(size):
            ahead, behind = (me + step) % size, (me - step) % size
            requests = [
                self.comm.Irecv([out[at : min(at + _MOST, take_ends[behind + 1])], byte], behind)
                for at in range(take_ends[behind], take_ends[behind + 1], _MOST)
            ] + [
                self.comm.Isend([to[at : min(at + _MOST, give_ends[ahead + 1])], byte], ahead)
                for at in range(give_ends[ahead], give_ends[ahead + 1], _MOST)
            ]
            self._mpi.Request.Waitall(requests)


def agree(comm, error=None):
    """Raises on all ranks what one of them has found: else the others would wait for it."""
    told = comm.allgather(None if error is None else str(error))
    if error is not None:
        raise error
    for rank, what in enumerate(told):
        if what is not None:
            raise ValueError(f"rank {rank}: {what}")


def union(comm, values):
    """The different values of all ranks, in order; those of each rank alone without a comm."""
    found = np.unique(values)
    return found if comm is None else np.unique(np.concatenate(comm.allgather(found)))
