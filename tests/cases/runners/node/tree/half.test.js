import test, { describe, it } from "node:test";
import assert from "node:assert";
import { half } from "./half.js";
test("even", () => assert.equal(half(4), 2));
test("odd", () => assert.equal(half(3), 1));
test("misuse", () => half(4).length.size);
describe("suite", () => { it("inner", () => {}); it.skip("later\u2028", () => {}); });
