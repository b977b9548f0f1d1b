require("node:test").test("x", () => {});
