exports.slug = (title) => title.toLowerCase().split(" ").join("-");
exports.shorten = (text, most) => (text.length > most ? text.slice(0, most) + "…" : text);
