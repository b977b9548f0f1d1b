// Reporter of `node --test` that writes one JSON record a line for each test.
//
// A record: file (absolute path), names (of the suites around the test, then its own), passed, skipped,
// seconds, error (stack trace), is_file (the file itself ended with an error).

import { relative, resolve } from "node:path";

const LONGEST = 6000;

function describe(error) {
  const cause = error?.cause ?? error;
  if (cause === undefined || cause === null) return "";
  const text = typeof cause === "object" ? cause.stack ?? cause.message ?? "" : cause;
  const code = cause?.code === "ERR_ASSERTION" && !/AssertionError/.test(text) ? "AssertionError: " : "";
  return `${code}${text}`;
}

export default async function* report(source) {
  let open = []; // the tests that have started and contain the next one, outermost first
  const errors = new Map(); // the end of what each file wrote to stderr
  for await (const { type, data } of source) {
    const file = data?.file ? resolve(data.file) : ""; // relative in some events of Node 22
    if (type === "test:stderr") {
      errors.set(file, ((errors.get(file) ?? "") + data.message).slice(-LONGEST));
    }
    if (type === "test:start") open = [...open.slice(0, data.nesting), { name: data.name, file }];
    if (type !== "test:pass" && type !== "test:fail") continue;
    const isFile = data.nesting === 0 && file !== "" && isName(data.name, file);
    if (data.details?.type === "suite" && type === "test:pass") continue;
    if (isFile && type === "test:pass") continue;
    if (data.details?.error?.failureType === "subtestsFailed") continue;
    const around = open.slice(0, data.nesting);
    yield JSON.stringify({
      file: isFile ? resolve(data.name) : around[0]?.file ?? file, // a helper may define a test inside of another
      names: [...around.map(({ name }) => name), data.name],
      passed: type === "test:pass",
      skipped: data.skip !== undefined || data.todo !== undefined,
      seconds: (data.details?.duration_ms ?? 0) / 1000,
      error: isFile ? errors.get(file) ?? describe(data.details?.error)
        : type === "test:fail" ? describe(data.details?.error) : "",
      is_file: isFile,
    }) + "\n";
  }
}

function isName(name, file) {
  return name === file || resolve(name) === file || name === relative(process.cwd(), file);
}
