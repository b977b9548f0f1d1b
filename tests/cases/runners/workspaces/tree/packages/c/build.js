console.log("no compiler"); process.exit(3);
