exports.half = (n) => n.size.nothing / 2;
