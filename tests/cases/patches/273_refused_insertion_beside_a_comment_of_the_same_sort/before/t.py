# Add the numbers of the last list.
y = 2
