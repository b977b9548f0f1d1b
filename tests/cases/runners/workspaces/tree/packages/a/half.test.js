const { test } = require("node:test");
const assert = require("node:assert");
const { half } = require("../shared/half.js");
test("four", () => assert.strictEqual(half(4), 2));
