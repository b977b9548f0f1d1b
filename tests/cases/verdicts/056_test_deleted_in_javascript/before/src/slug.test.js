const test = require("node:test");
const assert = require("node:assert/strict");
const { slug, shorten } = require("./slug.js");

test("shortens to the limit", () => {
  assert.equal(shorten("abcdef", 3), "abc…");
});

test("joins two words", () => {
  assert.equal(slug("Hello World"), "hello-world");
});

