// Order of the search results. Sphinx gives most pages that contain a word the same score, and sorts them by title.
// Here the page decides between equal matches: tasks of a user first, notes for developers last.
// The numbers of `Scorer` except `score` are those of Sphinx.
const PAGES = [
  [/^(choose|not_converging|start\/python|coming_from\/|pages\/(from_lmfit|python_package)$)/, 4],
  // Functions of Python, their options and their result.
  [/^api\/generated\/dualfit\.([a-z]|Options$|Fit$)/, 3],
  [/^pages\/guide\/(tour|compiler|README)$/, 0],
  [/^pages\/guide\//, 2],
  [/^(tasks\/\d|pages\/python_tour$)/, 1],
  [/^pages\/(benchmarks|calls|design|features|how_a_fit_works|kernels|mathematics|migration|scale)$/, -9],
];

var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const found = PAGES.find(([pattern]) => pattern.test(page));
    return score + (found ? found[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
