package org.example;
