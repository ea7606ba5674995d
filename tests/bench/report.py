"""Runs as Markdown tables: a row for each relay, median (lowest to highest) of its repetitions."""

import os
import platform
import re
import statistics
from pathlib import Path

MEASURES = {
    "rate": ("events/s", "{:,.0f}"),
    "steady_rate": ("events/s, first to last arrival", "{:,.0f}"),
    "seconds": ("seconds", "{:.2f}"),
    "first_seconds": ("start to first arrival, s", "{:.3f}"),
    "written_per_second": ("written/s", "{:,.0f}"),
    "p50": ("p50 ms", "{:.1f}"),
    "p95": ("p95 ms", "{:.1f}"),
    "p99": ("p99 ms", "{:.1f}"),
    "max": ("max ms", "{:.1f}"),
    "percent_of_a_core": ("% of a core", "{:.1f}"),
    "cpu": ("CPU s per million", "{:.2f}"),
    "walsender_cpu": ("walsender's", "{:.2f}"),
    "walsender_waited": ("its wait for a core, s per million", "{:.2f}"),
    "broker_cpu": ("broker's", "{:.2f}"),
    "peak_mib": ("peak RSS MiB", "{:.0f}"),
    "steady_mib": ("RSS MiB", "{:.0f}"),
    "parked": ("parked", "{:,.0f}"),
    "sent_seconds": ("s until those are delivered", "{:.1f}"),
    "sent_peak_mib": ("peak RSS MiB meanwhile", "{:.0f}"),
    "retained_mib": ("log kept, MiB", "{:.1f}"),
    "at_kill": ("arrived at the kill", "{:,.0f}"),
    "lost": ("lost", "{:,.0f}"),
    "again": ("sent again", "{:,.0f}"),
    "out_of_order": ("out of order", "{:,.0f}"),
    "split_keys": ("keys on two partitions", "{:,.0f}"),
    "stolen": ("stolen, %", "{:.0f}"),
}


def cell(runs, measure):
    """Median (lowest to highest)."""
    form = MEASURES[measure][1]
    values = [run[measure] for run in runs if run.get(measure) is not None]
    if not values:
        return ""
    middle, low, high = (form.format(f(values)) for f in (statistics.median, min, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def table(title, runs_of):
    """`runs_of`: relay -> runs."""
    used = [name for name in MEASURES if any(name in run for runs in runs_of.values() for run in runs)]
    lines = [f"\n### {title}\n", "| | " + " | ".join(MEASURES[name][0] for name in used) + " |"]
    lines.append("|---|" + "---|" * len(used))
    for relay, runs in runs_of.items():
        lines.append(f"| {relay} | " + " | ".join(cell(runs, name) for name in used) + " |")
    return "\n".join(lines)


def ratios(runs_of, limits):
    """walpost's rate divided by each other's, repetition by repetition."""
    lines = []
    for ours in (name for name in runs_of if name.startswith("walpost")):
        for theirs in (name for name in runs_of if not name.startswith("walpost")):
            if theirs in limits and ours.endswith("-socket") != theirs.endswith("-socket"):
                continue
            found = [
                one["rate"] / other["rate"] for one, other in zip(runs_of[ours], runs_of[theirs])
                if "rate" in one and "rate" in other
            ]
            if found:
                middle, low, high = statistics.median(found), min(found), max(found)
                lines.append(f"- {ours} / {theirs}: {middle:.2f} ({low:.2f} to {high:.2f})")
    return "\nevents/s, in each repetition:\n\n" + "\n".join(lines) if lines else ""


def machine_ticks():
    """All of the cores' time and, of it, what the host of a virtual machine gave to others (proc(5), stat)."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks), ticks[7]


def stolen_percent(before, after):
    return 100 * (after[1] - before[1]) / max(after[0] - before[0], 1)


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    return (f"{os.cpu_count()} cores ({model[1] if model else platform.machine()}), "
            f"{int(memory[1]) / 2**20:.0f} GiB, Linux {platform.release()}")
