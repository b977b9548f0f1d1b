x = 1
yy  = 3
