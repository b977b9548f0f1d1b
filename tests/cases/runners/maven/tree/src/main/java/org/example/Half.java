package org.example;

public class Half {
    static int half(int n) {
        if (n < 0) throw new IllegalStateException("negative");
        return n / 2;
    }
}
