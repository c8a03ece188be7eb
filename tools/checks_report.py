"""Print, per exercise: mistakes rejected and named, right answers rejected, seconds a check.

Run by `make checks-report`. Exit status 1 when a mistake is accepted or a right answer rejected.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attnbook.exercises import get, grade, ids
from tests.test_checks import ACCEPTING_SEEDS, NAMING_SEEDS, right_answers


def main() -> int:
    print(f"{'exercise':32}{'killed':>9}{'named':>9}{'false rejections':>19}{'seconds':>9}")
    bad = 0
    for exercise_id in ids():
        exercise = get(exercise_id)
        outcomes = [
            (mistake, grade(exercise_id, mistake.wrong, seed))
            for mistake in exercise.mistakes
            for seed in range(NAMING_SEEDS)
        ]
        killed = sum(outcome.status in ("failed", "error") for _, outcome in outcomes)
        named = sum(outcome.mistake == mistake.name for mistake, outcome in outcomes)
        right = right_answers(exercise_id)
        rejected = sum(
            grade(exercise_id, candidate, seed).status != "passed"
            for candidate in right
            for seed in range(ACCEPTING_SEEDS)
        )
        start = time.perf_counter()
        grade(exercise_id, right[0])
        seconds = time.perf_counter() - start
        n, runs = len(outcomes), len(right) * ACCEPTING_SEEDS
        print(
            f"{exercise_id:32}{f'{killed}/{n}':>9}{f'{named}/{n}':>9}"
            f"{f'{rejected}/{runs}':>19}{seconds:>9.3f}"
        )
        bad += (n - killed) + rejected
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
