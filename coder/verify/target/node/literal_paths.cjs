// Loaded before `node --test`, which takes paths for patterns since Node 21: `app/[id]` would match nothing.
"use strict";

if (!process.env.NODE_TEST_CONTEXT && parseInt(process.versions.node) > 20)
  process.argv = process.argv.map((word, index) => (index ? word.replace(/[[?(]/g, "[$&]") : word));
