c
b
