/** Reporter of Mocha, of any version: writes the results to the file that its option `output` names. */
"use strict";

const fs = require("node:fs");

const FINISHED = { passes: "pass", failures: "fail", pending: "pending" };

function record(test, error) {
  const err = error ? { message: String(error.message || error), stack: String(error.stack || "") } : {};
  return { title: test.title, fullTitle: test.fullTitle(), file: fileOf(test), duration: test.duration, err };
}

/** Return the file of a test; old versions give one to suites alone, of which the outermost may lack it. */
function fileOf(test) {
  for (let node = test; node; node = node.parent) if (node.file) return node.file;
  return "";
}

module.exports = class {
  constructor(runner, options) {
    const { output } = options.reporterOptions || options.reporterOption;
    const report = { passes: [], failures: [], pending: [] };
    for (const [key, event] of Object.entries(FINISHED))
      runner.on(event, (test, error) => report[key].push(record(test, error)));
    runner.on("end", () => fs.writeFileSync(output, JSON.stringify(report)));
  }
};
