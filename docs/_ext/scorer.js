// What a search lists first: a name that is the word itself, then pages, then what only holds it.
var Scorer = { // no const: the page declares it, too
  score: ([page, _title, _anchor, _words, score]) =>
    score + (page.startsWith("api/") ? 0 : page.startsWith("auto_examples/") ? 5 : 10),
  objNameMatch: 40,
  objPartialMatch: 4,
  objPrio: { 0: 5, 1: 2, 2: -5 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 9,
  term: 5,
  partialTerm: 2,
};
