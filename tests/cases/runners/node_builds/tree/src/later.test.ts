require("node:test").test("ends", () => {});
