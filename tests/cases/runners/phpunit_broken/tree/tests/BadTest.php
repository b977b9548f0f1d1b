<?php
class BadTest {
