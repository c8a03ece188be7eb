// How Sphinx's search weighs what it found; the numbers are its own, but for `score`. That one lifts a
// page by how well the query fits one of its phrases in search.yml, which stand in the index as entries.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score: ([docname, , , , score]) => {
    const stemmer = new Stemmer();
    const stems = (text) =>
      new Set(
        splitQuery(text.toLowerCase())
          .filter((word) => !stopwords.includes(word))
          .map((word) => stemmer.stemWord(word)),
      );
    const asked = stems(new URLSearchParams(location.search).get("q") ?? "");
    let best = 0;
    for (const [entry, places] of Object.entries(Search._index.indexentries)) {
      if (!places.some(([file]) => Search._index.docnames[file] === docname)) continue;
      const phrase = stems(entry);
      const shared = [...asked].filter((word) => phrase.has(word)).length;
      best = Math.max(best, shared / Math.max(asked.size, phrase.size));
    }
    return score + 40 * best;
  },
};
