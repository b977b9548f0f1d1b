exports.check = (t) => t.test("checked", (t) => t.test("inside", () => {}));
