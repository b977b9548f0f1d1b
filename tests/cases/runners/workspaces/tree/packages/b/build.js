require("fs").cpSync("src", "out", { recursive: true });
