require("node:test").test("a", (t) => require("./check.js").check(t));
