"""Chapter 0: dot, read_weights, result_shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnbook.exercises.exercise import Call, Exercise, Mistake, Probe

CHAPTER = "00-start-here"


# --- 0.1 dot ----------------------------------------------------------------------------------


def dot(a, b):
    """Multiply entry by entry and add up: (d,), (d,) -> a single number.

    The type of the numbers is kept; nothing to add up gives 0.
    """
    total = a.dtype.type(0)  # a zero of the type of a
    for i in range(len(a)):
        total = total + a[i] * b[i]
    return total


def _faulty(in_array=False, last_missing=False, first_outside=False) -> Callable:
    """The broken dot of the chapter, with all of its three faults or some of them."""

    def wrong(a, b):
        total = a[0] * b[0] if first_outside else a.dtype.type(0)
        for i in range(int(first_outside), len(a) - int(last_missing)):
            total = total + a[i] * b[i]
        return np.array([total]) if in_array else total

    return wrong


def _last_product(a, b):
    total = a.dtype.type(0)
    for i in range(len(a)):
        total = a[i] * b[i]
    return total


def _first_product(a, b):
    for i in range(len(a)):
        return a[i] * b[i]


def _last_product_in_array(a, b):
    return np.array([_last_product(a, b)])


def _first_pair_twice(a, b):
    total = a[0] * b[0]
    for i in range(len(a)):
        total = total + a[i] * b[i]
    return total


def _empty_for_empty(a, b):
    return (a * b).sum() if len(a) else a * b


def _first_pair_missing(a, b):
    return (a[1:] * b[1:]).sum()


def _both_ends_missing(a, b):
    total = a.dtype.type(0)
    for i in range(1, len(a) - 1):
        total = total + a[i] * b[i]
    return total


def _products(a, b):
    return a * b


def _sums_multiplied(a, b):
    return a.sum() * b.sum()


def _all_added(a, b):
    return (a + b).sum()


def _a_with_itself(a, b):
    return (a * a).sum()


def _b_with_itself(a, b):
    return (b * b).sum()


def _mean(a, b):
    return (a * b).sum() / len(a)


def _table(a, b):
    return np.outer(a, b)


def _one_by_one_table(a, b):
    return a.reshape(1, -1) @ b.reshape(-1, 1)


def _starts_at_one(a, b):
    return (a * b).sum() + 1


def _multiplied_up(a, b):
    return np.prod(a * b)


def _always_zero(a, b):
    total = 0
    for i in range(len(a)):
        total *= a[i] * b[i]
    return total


def _running_total(a, b):
    return np.cumsum(a * b)


def _cosine(a, b):
    return (a * b).sum() / (np.linalg.norm(a) * np.linalg.norm(b))


def _squared_distance(a, b):
    return ((a - b) ** 2).sum()


def _size_only(a, b):
    return abs((a * b).sum())


def _whole_number(a, b):
    return int((a * b).sum())


def _three_only(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _rounded(a, b):
    return np.round((a * b).sum())


def _two_decimals(a, b):
    return np.round((a * b).sum(), 2)


def _subtracted(a, b):
    return -(a * b).sum()


def _one_number_with_all(a, b):
    return a.sum() * b


def _whole_vectors_in_the_loop(a, b):
    total = a.dtype.type(0)
    for _ in range(len(a)):
        total = total + a * b
    return total


def _example_only(a, b):
    return 32


def _array_for_empty(a, b):
    return (a * b).sum() if len(a) else np.array([0.0])


def _draw(rng: np.random.Generator, d: int) -> Call:
    return Call((rng.normal(size=d), rng.normal(size=d)))


def _whole_numbers(rng: np.random.Generator) -> list[Call]:
    """Small enough to follow in your head, then any numbers, all lengths different."""
    return [
        Call((np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))),
        _draw(rng, 4),
        _draw(rng, 7),
        _draw(rng, 5),
    ]


def _short(rng: np.random.Generator) -> list[Call]:
    return [
        Call((np.array([2.0]), np.array([5.0]))),
        Call((np.array([0.5, -2.0]), np.array([3.0, 4.0]))),
    ]


def _nothing(rng: np.random.Generator) -> list[Call]:
    return [Call((np.array([]), np.array([])))]


def _float_kinds(rng: np.random.Generator) -> list[Call]:
    whole = rng.integers(-4, 5, size=(2, 3))
    return [
        Call(tuple(rng.normal(size=(2, 3)).astype(np.float32))),
        Call(tuple(rng.normal(size=(2, 6)).astype(np.float32))),
        Call(tuple(whole.astype(np.float16))),
    ]


_IN_ARRAY = (
    "The result stands inside an array or a list: `np.array([total])` has the shape (1,), one "
    "axis with one number. A single number has the shape ()."
)
_SHORT = (
    "The last pair is missing. `range(n - 1)` and `range(1, n - 1)` stop one pair too early: the "
    "end of a range is not part of it."
)
_OUTSIDE = (
    "The first pair is taken before the loop, whether there is one or not. With nothing to add up "
    "there is no `a[0]`."
)
_TAKE_OUT = "Return the number itself: `return total`."
_NUMBER_LATER = " The number is wrong too; the check comes to that when the shape is right."
_TO_THE_END = "Let the loop run to `len(a)`."
_FROM_ZERO = "Begin with a total of 0 and let the loop begin with pair 0."
_ARRAYS = "Five words about arrays"

DOT = Exercise(
    id="dot",
    number="0.1",
    chapter=CHAPTER,
    signature="dot(a, b)",
    summary="multiply entry by entry and add up",
    difficulty=1,
    minutes=6,
    points=1,
    solution=dot,
    read="A check, and how to read it",
    hints=(
        "Mend one thing at a time, in the order in which the check speaks. Go through your function "
        "by hand with the smallest failing input: which pairs does it visit, and what comes back?",
        "The last line of the broken `dot` wraps the number in an array. `range(1, len(a) - 1)` "
        "begins with pair 1 and ends before the last pair. Which pairs should the loop visit, if "
        "`total` begins with 0?",
        "`total = 0`, then `for i in range(len(a)): total = total + a[i] * b[i]`, then "
        "`return total`.",
    ),
    probes=(
        Probe(
            "values",
            "the products of all pairs, added up to a single number",
            _whole_numbers,
            cause="The recipe is: multiply the numbers that stand at the same place, then add up "
            "the products.",
        ),
        Probe(
            "short vectors",
            "one pair alone, and two pairs",
            _short,
            cause="The number of pairs is fixed somewhere; take it from `len(a)`.",
        ),
        Probe(
            "empty",
            "two empty vectors give 0",
            _nothing,
            cause="With nothing to add up the total is 0.",
        ),
        Probe(
            "dtype",
            "float32 vectors give a float32 result, float16 gives float16",
            _float_kinds,
            read=_ARRAYS,
        ),
    ),
    mistakes=(
        Mistake("number inside an array", _faulty(in_array=True), _IN_ARRAY, _TAKE_OUT, _ARRAYS),
        Mistake("last pair missing", _faulty(last_missing=True), _SHORT, _TO_THE_END),
        Mistake("first pair outside the loop", _faulty(first_outside=True), _OUTSIDE, _FROM_ZERO),
        Mistake(
            "all three faults of the broken dot",
            _faulty(True, True, True),
            _IN_ARRAY,
            _TAKE_OUT + _NUMBER_LATER,
            _ARRAYS,
        ),
        Mistake(
            "inside an array, and the last pair missing",
            _faulty(in_array=True, last_missing=True),
            _IN_ARRAY,
            _TAKE_OUT + _NUMBER_LATER,
            _ARRAYS,
        ),
        Mistake(
            "inside an array, and the first pair outside the loop",
            _faulty(in_array=True, first_outside=True),
            _IN_ARRAY,
            _TAKE_OUT,
            _ARRAYS,
        ),
        Mistake(
            "last pair missing, and the first outside the loop",
            _faulty(last_missing=True, first_outside=True),
            _SHORT,
            _TO_THE_END,
        ),
        Mistake(
            "only the last product",
            _last_product,
            "Each round of the loop throws away what was there before, so that only the last "
            "product is left.",
            "Write `total = total + …`, or `total += …`, inside the loop.",
        ),
        Mistake(
            "inside an array, and only the last product",
            _last_product_in_array,
            _IN_ARRAY,
            _TAKE_OUT + _NUMBER_LATER,
            _ARRAYS,
        ),
        Mistake(
            "first pair twice",
            _first_pair_twice,
            "The first pair is counted twice: once before the loop, and once more inside it.",
            _FROM_ZERO,
        ),
        Mistake(
            "nothing for nothing",
            _empty_for_empty,
            "For two empty vectors you return an empty array. A sum of nothing is 0, a number.",
            "A loop that begins with a total of 0 does that by itself.",
        ),
        Mistake(
            "only the first product",
            _first_product,
            "The function returns in the first round of the loop: `return` stands too far to the "
            "right.",
            "Move `return` back, so that it lines up with `for`.",
        ),
        Mistake(
            "first pair missing",
            _first_pair_missing,
            "The first pair is left out. Python counts from 0: the first pair is `a[0] * b[0]`.",
            "Begin the loop with 0: `range(len(a))`.",
        ),
        Mistake(
            "first and last pair missing",
            _both_ends_missing,
            "The loop leaves out the first pair and the last: `range(1, n - 1)` begins with pair 1 "
            "and ends before pair n − 1.",
            "`range(len(a))` visits every pair.",
        ),
        Mistake(
            "products not added up",
            _products,
            "You return one product for each pair, and nothing adds them up.",
            "One more step: the sum of the products.",
            _ARRAYS,
        ),
        Mistake(
            "running total",
            _running_total,
            "You return the total after each pair, a whole list of them. Only the last one is asked "
            "for.",
            "Keep one number and return it after the loop.",
            _ARRAYS,
        ),
        Mistake(
            "sums multiplied",
            _sums_multiplied,
            "Every number of `a` is multiplied with every number of `b`, not only with its partner. "
            "Two loops, one inside the other, do that, and so does multiplying the two sums.",
            "Multiply pair by pair, `a[i] * b[i]` with the same `i`, and add up last.",
        ),
        Mistake(
            "added in place of multiplied",
            _all_added,
            "The two numbers of a pair are added; they should be multiplied.",
            "Inside the sum write `a[i] * b[i]`.",
        ),
        Mistake(
            "everything multiplied",
            _multiplied_up,
            "The products are multiplied with each other; they should be added.",
            "Begin with 0 and use `+`.",
        ),
        Mistake(
            "stays at zero",
            _always_zero,
            "Whatever goes in, 0 comes out: nothing is ever added to the total, or it is "
            "multiplied, and 0 times anything is 0.",
            "Look at the line inside the loop: it should say `total = total + …`, or `total += …`.",
        ),
        Mistake(
            "a with itself",
            _a_with_itself,
            "`b` plays no part: you multiply `a` with itself.",
            "Each product is `a[i] * b[i]`.",
        ),
        Mistake(
            "b with itself",
            _b_with_itself,
            "`a` plays no part: you multiply `b` with itself.",
            "Each product is `a[i] * b[i]`.",
        ),
        Mistake(
            "mean of the products",
            _mean,
            "You divide by the number of pairs: that is the mean of the products. The sum is asked "
            "for.",
            "Leave out the division, or use `sum` in place of `mean`.",
        ),
        Mistake(
            "table of all products",
            _table,
            "You multiply every number of `a` with every number of `b`. Only numbers at the same "
            "place are multiplied.",
            "`a * b` pairs them in step; then add up.",
            _ARRAYS,
        ),
        Mistake(
            "a one by one table",
            _one_by_one_table,
            "The number is right but stands inside a table with one row and one column.",
            "Return the number itself; two vectors with one axis each need no `reshape`.",
            _ARRAYS,
        ),
        Mistake(
            "starts at one",
            _starts_at_one,
            "The result is too large by 1: the total begins with 1.",
            "Before anything is added, a total is 0.",
        ),
        Mistake(
            "divided by the lengths",
            _cosine,
            "You divide by the lengths of the vectors. That is the cosine, which chapter 1 tells "
            "apart from the dot product.",
            "Leave out the division.",
        ),
        Mistake(
            "squared distance",
            _squared_distance,
            "You add up squared differences. That says how far apart the two are, which is another "
            "question.",
            "Each product is `a[i] * b[i]`.",
        ),
        Mistake(
            "sign lost",
            _size_only,
            "The size is right, the sign is lost. A dot product may be negative.",
            "Leave out `abs`.",
        ),
        Mistake(
            "cut to a whole number",
            _whole_number,
            "What stands after the decimal point is lost, as `int(…)` does it.",
            "Leave out `int`.",
        ),
        Mistake(
            "rounded to a whole number",
            _rounded,
            "The result is rounded to a whole number. A dot product may have decimals.",
            "Leave out the rounding.",
        ),
        Mistake(
            "rounded to two decimals",
            _two_decimals,
            "The result is rounded to two decimals. The check shows few digits, but compares all.",
            "Leave out the rounding.",
        ),
        Mistake(
            "subtracted in place of added",
            _subtracted,
            "The size is right and the sign is wrong: the products are subtracted from the total.",
            "Inside the loop write `+`.",
        ),
        Mistake(
            "one number with the whole of b",
            _one_number_with_all,
            "A single number is multiplied with the whole vector `b`, so a vector comes back: an "
            "`[i]` is missing.",
            "Each product is `a[i] * b[i]`.",
            _ARRAYS,
        ),
        Mistake(
            "whole vectors in the loop",
            _whole_vectors_in_the_loop,
            "Each round of the loop adds all the products, `a * b`, in place of one: the `[i]` is "
            "missing.",
            "Inside the loop write `a[i] * b[i]`.",
            _ARRAYS,
        ),
        Mistake(
            "the example's result for everything",
            _example_only,
            "32 comes back whatever goes in. That is right for the example of the text alone.",
            "Work the number out from `a` and `b`.",
        ),
        Mistake(
            "an array for two empty vectors",
            _array_for_empty,
            "For two empty vectors the 0 stands inside an array. Elsewhere the result is a number.",
            "A loop that begins with a total of 0 needs no case of its own.",
            _ARRAYS,
        ),
        Mistake(
            "always three pairs",
            _three_only,
            "The number of pairs is fixed at three, by `range(3)` or written out. Other vectors have "
            "more, or fewer.",
            "Let a loop run over `range(len(a))`.",
        ),
    ),
)


# --- 0.2 read_weights -------------------------------------------------------------------------

WORDS = ("dragon", "saw", "cup", "it", "flew")
_OTHER_CELLS = (
    *((0, 1), (0, 2), (1, 1), (1, 3), (2, 1), (2, 3), (2, 4)),
    *((3, 1), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (4, 4)),
)


_TWO_NUMBERS = "Answer with two whole numbers, as in `(2, 4)`: row, column."


def _another_word(word: str) -> Mistake:
    return Mistake(
        f"the word {word}",
        word,
        f"“{word}” is not the word asked for, and asked is a cell.",
        "Run down the column of dragon, leaving out dragon's own row. " + _TWO_NUMBERS,
    )


def _another_column(row: int, column: int) -> Mistake:
    """A cell that says nothing about what others take from dragon, read out aloud."""
    return Mistake(
        f"cell ({row}, {column})",
        (row, column),
        f"Row {row} is “{WORDS[row]}”, column {column} is “{WORDS[column]}”: the cell says how much "
        f"“{WORDS[row]}” takes from “{WORDS[column]}”.",
        "What is taken from dragon stands in the column of dragon, number 0.",
    )


READ_WEIGHTS = Exercise(
    id="read_weights",
    number="0.2",
    chapter=CHAPTER,
    signature="a cell, (row, column)",
    summary="the cell of the word, other than dragon, that takes most from dragon",
    difficulty=1,
    minutes=3,
    points=1,
    kind="answer",
    solution="read_weights = (3, 0)",
    read="From your numbers to a picture",
    hints=(
        "A row belongs to the word that looks, a column to the word that is looked at. Which of the "
        "two is dragon here?",
        "Run your finger down the column of dragon. Leave out dragon's own row, and look for the "
        "darkest of the other four cells.",
        "The darkest of the four shows 0.50. Its row comes first in your answer, its column second, "
        "both counted from 0: the rows are dragon 0, saw 1, cup 2, it 3, flew 4.",
    ),
    mistakes=(
        Mistake(
            "row and column swapped",
            (0, 3),
            "This cell says how much dragon takes from “it”: row and column are swapped.",
            "The row, the word that looks, comes first.",
        ),
        Mistake(
            "read along the row",
            (0, 4),
            "You read along the row of dragon: what dragon takes from others. Asked is what others "
            "take from dragon.",
            "Look down the column of dragon.",
        ),
        Mistake(
            "second largest",
            (4, 0),
            "The column is right: flew takes 0.26 from dragon. One word takes more.",
            "Compare all the cells of that column. The row of flew is number 4.",
        ),
        Mistake(
            "third in the column",
            (1, 0),
            "The column is right: saw takes 0.08 from dragon. Others take more.",
            "Look for the darkest cell of that column, leaving out dragon's own.",
        ),
        Mistake(
            "fourth in the column",
            (2, 0),
            "The column is right: cup takes 0.02 from dragon, less than any other word.",
            "Look for the darkest cell of that column, leaving out dragon's own.",
        ),
        Mistake(
            "dragon itself",
            (0, 0),
            "This is dragon with itself. It is the darkest cell of the column, but the question is "
            "about the other words.",
            "Leave out the row of dragon.",
        ),
        Mistake(
            "darkest of all",
            (2, 2),
            "This is the darkest cell of the whole picture, cup with itself. It says nothing about "
            "dragon.",
            "Look down the column of dragon.",
        ),
        Mistake(
            "darkest off the diagonal",
            (1, 2),
            "This is the largest weight that any word gives to another one: saw takes it from cup. "
            "Dragon is not involved.",
            "Look down the column of dragon.",
        ),
        Mistake(
            "counted from one",
            (4, 1),
            "You count rows and columns from 1. Python counts from 0, so this cell says how much "
            "flew takes from saw.",
            "Lower both numbers by one.",
        ),
        Mistake(
            "counted from one and swapped",
            (1, 4),
            "You count from 1, and the column stands first.",
            "Count from 0, and write the row first.",
        ),
        Mistake(
            "the weight itself",
            0.5,
            "This is the weight that stands in the cell. Asked is where it stands.",
            "Answer with two whole numbers, as in `(2, 4)`: row, column.",
        ),
        Mistake(
            "the row alone",
            3,
            "The row is right. A cell needs a column too.",
            "Answer with two whole numbers, as in `(2, 4)`: row, column.",
        ),
        Mistake(
            "a word",
            "it",
            "The word is right. Asked is the cell.",
            "Answer with two whole numbers, as in `(2, 4)`: row, column.",
        ),
        Mistake(
            "two words",
            ("it", "dragon"),
            "The words are right, and in the right order. Asked are their numbers.",
            "Count the rows and the columns from 0.",
        ),
        Mistake(
            "cell as text",
            "3, 0",
            "The answer stands in quotation marks, so it is text.",
            "Leave out the quotation marks.",
        ),
        Mistake(
            "column left out", (3,), "The row is right. A cell needs a column too.", _TWO_NUMBERS
        ),
        Mistake(
            "the weight as a third number",
            (3, 0, 0.5),
            "Row and column are right. The weight itself is not asked for.",
            _TWO_NUMBERS,
        ),
        Mistake(
            "a word and a number",
            ("it", 0),
            "Row and column are right, but the row is given by its word.",
            "Count the rows from 0, and write the number.",
        ),
        Mistake(
            "a number and a word",
            (3, "dragon"),
            "Row and column are right, but the column is given by its word.",
            "Count the columns from 0, and write the number.",
        ),
        Mistake(
            "two words, swapped",
            ("dragon", "it"),
            "The row, the word that looks, comes first; and asked are numbers.",
            "Count the rows and the columns from 0.",
        ),
        Mistake(
            "counted from the end",
            (-2, 0),
            "Python would find the cell, since −2 counts from the end. Asked is the place from the "
            "front.",
            "Count the rows from the top, beginning with 0.",
        ),
        Mistake(
            "cell inside another list",
            ((3, 0),),
            "Row and column are right; there is one pair of brackets too many around them.",
            _TWO_NUMBERS,
        ),
        Mistake(
            "the weight in percent",
            50,
            "This is the weight that stands in the cell, in percent. Asked is where it stands.",
            _TWO_NUMBERS,
        ),
        Mistake(
            "two words as text",
            "it, dragon",
            "The words are right, and in the right order. Asked are their numbers.",
            "Count the rows and the columns from 0.",
        ),
        *(_another_word(word) for word in WORDS if word != "it"),
        *(_another_column(row, column) for row, column in _OTHER_CELLS),
    ),
)


# --- 0.3 result_shape -------------------------------------------------------------------------

RESULT_SHAPE = Exercise(
    id="result_shape",
    number="0.3",
    chapter=CHAPTER,
    signature="a shape, such as (2, 7)",
    summary="the shape of `(vectors * vectors).sum(axis=1)`, where `vectors` is (5, 3)",
    difficulty=1,
    minutes=3,
    points=1,
    kind="answer",
    solution="result_shape = (5,)",
    read="Shapes first",
    hints=(
        "Take it in two steps. What is the shape of `vectors * vectors`, before anything is added "
        "up?",
        "`*` works entry by entry, so the shape stays (5, 3). Which of these two sizes belongs to "
        "axis 1?",
        "Axis 1 has the size 3, and the axis you name is the one that disappears. Write what is left "
        "as a shape: a shape with one axis has a comma, as in `(7,)`.",
    ),
    mistakes=(
        Mistake(
            "the other axis",
            (3,),
            "The axis that you name disappears; it does not stay. Axis 1 has the size 3, and that is "
            "the one that is added up.",
            "Strike out the second number of (5, 3).",
        ),
        Mistake(
            "nothing added up",
            (5, 3),
            "This is the shape before the sum. `.sum(axis=1)` takes one axis away.",
            "Strike out the number that belongs to axis 1.",
        ),
        Mistake(
            "all pairs",
            (5, 5),
            "Five by five is every word with every word. Here `*` pairs each number with itself.",
            "`*` works entry by entry: the shape of `vectors * vectors` is (5, 3).",
        ),
        Mistake(
            "all pairs of columns",
            (3, 3),
            "Three by three would be every column with every column. Here `*` pairs each number with "
            "itself.",
            "`*` works entry by entry: the shape of `vectors * vectors` is (5, 3).",
        ),
        Mistake(
            "axis kept",
            (5, 1),
            "The five is right. The other axis does not shrink to 1, it disappears, unless you ask "
            "with `keepdims=True`.",
            "A shape with one axis is written with one number and a comma.",
        ),
        Mistake(
            "a row",
            (1, 5),
            "The five is right. An array with one axis is neither a row nor a column: its shape has "
            "one number.",
            "A shape with one axis is written with one number and a comma.",
        ),
        Mistake(
            "everything added up",
            (),
            "() is the shape of a single number: the sum over all entries, without `axis`.",
            "With `axis=1` only that axis disappears.",
        ),
        Mistake(
            "a number in place of a shape",
            5,
            "The number is right, and `(5)` is the number 5 in brackets. A shape is a tuple.",
            "Write the comma: as in `(7,)`.",
        ),
        Mistake(
            "the size of the other axis",
            3,
            "The axis that you name disappears; it does not stay. And a shape with one axis is "
            "written with a comma, as in `(7,)`.",
            "Strike out the second number of (5, 3).",
        ),
        Mistake(
            "number of entries",
            15,
            "That is how many numbers `vectors` holds. Asked is a shape: one size for each axis that "
            "is left.",
            "Strike out the number that belongs to axis 1, and write what is left with a comma.",
        ),
        Mistake(
            "axes exchanged",
            (3, 5),
            "This is the shape of `vectors.T`. Nothing is turned here, and one axis is added up.",
            "Strike out the second number of (5, 3).",
        ),
        Mistake(
            "the result itself",
            (5, 1, 4, 1, 5),
            "These are the five numbers of the result. Asked is its shape: how many there are along "
            "each axis.",
            "Count them, and write the shape with a comma, as in `(7,)`. In a cell, `.shape` behind "
            "the result shows it.",
        ),
        Mistake(
            "how many axes",
            1,
            "One is how many axes the result has. A shape says how many numbers there are along each.",
            "Strike out the second number of (5, 3), and write what is left with a comma.",
        ),
        Mistake(
            "how many axes, as a shape",
            (1,),
            "One is how many axes the result has; `(1,)` is one axis with a single number.",
            "Strike out the second number of (5, 3), and write what is left with a comma.",
        ),
        Mistake(
            "all numbers in a row",
            (15,),
            "Fifteen numbers would be the table laid out in one row. `.sum(axis=1)` adds some of them "
            "up.",
            "Strike out the number that belongs to axis 1.",
        ),
        Mistake(
            "the other axis kept as one",
            (1, 3),
            "That would be `sum(axis=0, keepdims=True)`: axis 1 is the one that is added up, and an "
            "axis that is added up disappears.",
            "Strike out the second number of (5, 3).",
        ),
        Mistake(
            "the other axis in a column",
            (3, 1),
            "Axis 1 has the size 3, and that is the one that is added up: it does not stay.",
            "Strike out the second number of (5, 3).",
        ),
        Mistake(
            "a zero for the axis that is gone",
            (5, 0),
            "The five is right. `(5, 0)` is a table whose rows are empty; here the second axis is "
            "gone altogether.",
            "A shape with one axis is written with one number and a comma.",
        ),
        Mistake(
            "shape as text",
            "5,",
            "The answer stands in quotation marks, so it is text.",
            "Leave out the quotation marks.",
        ),
    ),
)

EXERCISES = (DOT, READ_WEIGHTS, RESULT_SHAPE)
