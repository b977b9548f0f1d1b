package org.example;

public class Half {
    nothing
}
