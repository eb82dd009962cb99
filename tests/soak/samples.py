"""The measures of a soak, and the comparison of two quarters of it."""
import dataclasses
import os
import statistics

import host_view

MEBIBYTE = 1 << 20


@dataclasses.dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    share: float  # of the earlier quarter that the later one may be above it,
    step: float   # unless it is no more than this above it


MEASURES = (
    Measure("time of good programs, p50", "ms", 0.5, 5),
    Measure("time of good programs, p99", "ms", 1.0, 150),
    Measure("memory of the server", "MiB", 0.2, 8),
    Measure("memory of the launcher", "MiB", 0.2, 1),
    Measure("descriptors of the server", "", 0.25, 40),
    Measure("descriptors of the launcher", "", 0.25, 20),
    Measure("processes", "", 0.25, 40),
    Measure("mounts of the host", "", 0.0, 0),
    Measure("cgroups", "", 0.25, 20),
    Measure("network namespaces", "", 0.25, 40),
    Measure("files of the server", "", 0.25, 4),
    Measure("memory of the host in use", "MiB", 0.15, 200),
)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def memory_in_use():
    total_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE
    return total_mb - host_view.available_mb()


def network_namespaces(processes):
    found = set()
    for pid in processes:
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            continue  # it has ended, or belongs to another user
    return len(found)


def descriptors(pid):
    try:
        return host_view.open_descriptors(pid)
    except OSError:
        return None  # not dumpable, and this user is not root


def take(server, times):
    """Maps the name of each measure to its value; a measure that cannot be taken here is left out."""
    processes, launcher = server.processes(), server.launcher()
    sample = {
        "memory of the server": host_view.resident_bytes(server.pid) / MEBIBYTE,
        "memory of the launcher": host_view.resident_bytes(launcher) / MEBIBYTE,
        "descriptors of the server": host_view.open_descriptors(server.pid),
        "descriptors of the launcher": descriptors(launcher),
        "processes": len(processes),
        "mounts of the host": len(host_view.mounts()),
        "cgroups": len(host_view.cgroups()),
        "network namespaces": network_namespaces(processes),
        "files of the server": sum(len(names) for _, _, names in os.walk(server.directory)),
        "memory of the host in use": memory_in_use(),
    }
    if times:
        sample["time of good programs, p50"] = 1000 * statistics.median(times)
        sample["time of good programs, p99"] = 1000 * percentile(times, 0.99)
    return {name: value for name, value in sample.items() if value is not None}


def quarters(values):
    """Medians of the second and of the last quarter."""
    quarter = len(values) // 4
    return statistics.median(values[quarter:2 * quarter]), statistics.median(values[-quarter:])


def has_grown(measure, before, after):
    return after > before * (1 + measure.share) and after > before + measure.step
