a
++ new
b
