x = 1
yy  = 2
