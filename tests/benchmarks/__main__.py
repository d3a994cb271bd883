"""`python -m tests.benchmarks [NAME ...]`: every goal as a ratio, in one run, with its goal beside it."""

import asyncio
import sys
from importlib import import_module
from pathlib import Path


async def main(wanted: list[str]) -> None:
    names = wanted or sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    missed = 0
    for name in names:
        print(f"\n{name.removeprefix('bench_')}", flush=True)
        async for figure in import_module(f"tests.benchmarks.{name}").figures():
            missed += not figure.is_met
            print(f"  {figure}", flush=True)
    print(f"\n{missed} missed" if missed else "\nevery goal met")


asyncio.run(main(sys.argv[1:]))
