"""What a prompt speaks of and its chapter shows: what stands before it in an assignment.

Most prompts stand alone. These few point at something on the chapter's page. A line
`# %%` begins another cell: a figure is drawn at the end of its own.
"""

from __future__ import annotations

CONTEXT: dict[str, str] = {
    "dot": """
# A dot product with faults, to be copied and mended
def broken_dot(a, b):
    total = a[0] * b[0]  # begin with the first pair
    for i in range(1, len(a) - 1):  # add the other pairs
        total = total + a[i] * b[i]
    return np.array([total])
""",
    "read_weights": """
from attnbook.figures import heatmap

words = ["dragon", "saw", "cup", "it", "flew"]
attention = np.array(  # row: the word that looks, column: the word that is looked at
    [
        [0.70, 0.00, 0.00, 0.03, 0.26],
        [0.08, 0.21, 0.56, 0.08, 0.08],
        [0.02, 0.11, 0.84, 0.02, 0.02],
        [0.50, 0.07, 0.07, 0.18, 0.18],
        [0.26, 0.00, 0.00, 0.01, 0.71],
    ]
)
heatmap(attention, rows=words, columns=words, title="Who takes from whom?")
# %%
for word, row in zip(words, attention, strict=True):
    print(f"{word:>6}", " ".join(f"{weight:.2f}" for weight in row))
""",
}
