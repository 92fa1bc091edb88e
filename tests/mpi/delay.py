#!/usr/bin/env python3
"""A switch between network namespaces with late and lost frames, where the kernel has no netem.

    delay.py MILLISECONDS LOSS NAMESPACE..

Makes the interface eth0 in each namespace, a TAP device, prints "ready", and passes frames on to all the others
after the time, drawn between half and one and a half of it; the share LOSS of them is dropped.  Ends when its
input is closed.
"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 2, 0x1000, 0x40000000


def tap_in(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    space = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(space, CLONE_NEWNET) != 0:
        sys.exit(f"no namespace {namespace}: {os.strerror(ctypes.get_errno())}")
    os.close(space)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", b"eth0", IFF_TAP | IFF_NO_PI))
    return tap


def main():
    delay, loss = float(sys.argv[1]) / 1000, float(sys.argv[2])
    taps = [tap_in(name) for name in sys.argv[3:]]
    waiting, number, passed, dropped = [], 0, 0, 0
    print("ready", flush=True)
    while True:
        left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        ready, _, _ = select.select(taps + [sys.stdin], [], [], left)
        if sys.stdin in ready:
            break
        for tap in ready:
            frame = os.read(tap, 65536)
            if random.random() < loss:
                dropped += 1
                continue
            number += 1
            heapq.heappush(waiting, (time.monotonic() + random.uniform(0.5, 1.5) * delay, number, tap, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, origin, frame = heapq.heappop(waiting)
            passed += 1
            for tap in taps:
                if tap != origin:
                    try:
                        os.write(tap, frame)
                    except OSError:  # its queue is full, or it is not up yet: one frame more is lost
                        dropped += 1
    print(f"{passed} frames passed on, {dropped} dropped", file=sys.stderr)


main()
