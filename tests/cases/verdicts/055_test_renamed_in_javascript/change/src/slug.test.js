const test = require("node:test");
const assert = require("node:assert/strict");
const { slug, shorten } = require("./slug.js");

test("cuts long titles", () => {
  assert.equal(shorten("abcdef", 3), "abc…");
});

test("joins two words", () => {
  assert.equal(slug("Hello World"), "hello-world");
});

test("joins all words", () => {
  assert.equal(slug("a long title here"), "a-long-title-here");
});
