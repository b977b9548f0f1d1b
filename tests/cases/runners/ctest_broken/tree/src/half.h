int half(int);
