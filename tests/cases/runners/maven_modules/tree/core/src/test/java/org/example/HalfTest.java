package org.example;

class HalfTest {}
