NEW = 1
