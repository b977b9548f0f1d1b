exports.slug = (title) => title.toLowerCase().replace(" ", "-");
exports.shorten = (text, most) => (text.length > most ? text.slice(0, most) + "…" : text);
