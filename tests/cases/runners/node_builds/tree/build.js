
const fs = require("node:fs");
const sources = fs.readdirSync("src").filter((name) => name.endsWith(".ts"));
const text = sources.map((name) => fs.readFileSync(`src/${name}`, "utf8")).join("");
if (text.includes("double(")) {
  console.log("src/half.test.ts(3,1): error TS2305: Module './half' has no exported member 'double'.");
  process.exit(2);
}
fs.mkdirSync("dist/src", { recursive: true });
for (const name of sources) {
  fs.copyFileSync(`src/${name}`, `dist/src/${name.replace(".ts", ".js")}`);
}
