require_relative "missing"
