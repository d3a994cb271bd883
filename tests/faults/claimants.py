"""A process of claimants: `python -m tests.faults.claimants PLACE CLAIMANTS CALLS FOLDER`.

Each of them claims every call, and runs what it has won: a line in a file of the call's name.
"""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from pathlib import Path

from tests.approvals.places import Place
from toolhaft.approvals import AlreadyDecided, CallKey, Decision


async def main(place: Place, claimants: int, calls: int, folder: Path) -> None:
    outcomes: Counter[str] = Counter()
    async with place.open() as store:

        async def claim_all(number: int) -> None:
            names = [f"c{call}" for call in range(calls)]
            random.Random(number * 1_000_003 + os.getpid()).shuffle(names)
            for name in names:
                owner = f"{os.getpid()}-{number}"
                key = CallKey("conversation", name)
                try:
                    record = await store.claim(key, Decision(kind="approve", by=owner), owner=owner)
                except AlreadyDecided as error:
                    outcomes["lost" if error.decision else "wrong"] += 1
                    continue
                assert record.lease is not None
                outcomes["won" if record.lease.owner == owner else "wrong"] += 1
                with open(folder / name, "a") as file:
                    file.write(f"{owner}\n")
                await store.finish(key, owner=owner, result=owner)

        await asyncio.gather(*(claim_all(number) for number in range(claimants)))
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    asyncio.run(main(Place.from_json(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
