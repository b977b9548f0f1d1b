// Reporter of Vitest, of any version since 1: writes a report like Jest's to the file that `outputFile` names.
//
// Vitest's own has no types of errors before version 2, and leaves out errors of hooks around a suite.

import { writeFileSync } from "node:fs";

const STATES = { pass: "passed", fail: "failed" }; // of versions before 3; any other did not run

/** Return an error as its stack trace, which may lack the type and the message. */
function describe(error) {
  const { name, message, stack, stackStr } = error ?? {};
  const head = name && message !== undefined ? `${name}: ${message}` : String(message ?? error);
  const trace = String(stack ?? stackStr ?? "");
  return message && trace.includes(message) ? trace : [head, trace].filter(Boolean).join("\n");
}

/** Return a module, suite or test of version 3 in the form of a task, as earlier versions have them. */
function toTask(node) {
  if (node.type === "test") {
    const { state, errors } = node.result();
    return { name: node.name, result: { state, errors, duration: node.diagnostic()?.duration } };
  }
  const tasks = [...node.children].map(toTask);
  return { name: node.name, filepath: node.moduleId, result: { errors: node.errors() }, tasks };
}

/** Yield the results of the tests in a task; those that an error of a suite kept from running failed. */
function* results(task, titles, around) {
  for (const child of task.tasks) {
    const errors = child.result?.errors ?? [];
    if (child.tasks) {
      yield* results(child, [...titles, child.name], errors.length ? errors : around);
      continue;
    }
    const state = child.result?.state ?? "";
    const status = STATES[state] ?? state;
    const isPrevented = around.length > 0 && status !== "passed" && status !== "failed";
    yield {
      ancestorTitles: titles,
      title: child.name,
      status: isPrevented ? "failed" : status,
      duration: child.result?.duration,
      failureMessages: (isPrevented ? around : errors).map(describe),
    };
  }
}

export default class {
  onInit({ config }) {
    this.output = config.outputFile;
  }

  /** Called by versions before 4. */
  onFinished(files = []) {
    const testResults = files.map((file) => {
      const errors = file.result?.errors ?? [];
      const assertionResults = [...results(file, [], errors)];
      const isRed = errors.length > 0 || assertionResults.some(({ status }) => status === "failed");
      const message = errors.map(describe).join("\n");
      return { name: file.filepath, status: isRed ? "failed" : "passed", message, assertionResults };
    });
    writeFileSync(this.output, JSON.stringify({ testResults }));
  }

  /** Called by versions since 3. */
  onTestRunEnd(modules) {
    this.onFinished(modules.map(toTask));
  }
}
