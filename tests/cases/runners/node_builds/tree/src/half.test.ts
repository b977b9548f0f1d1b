require("node:test").test("halves", () => {});
