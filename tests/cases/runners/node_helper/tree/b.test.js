require("./missing.js");
