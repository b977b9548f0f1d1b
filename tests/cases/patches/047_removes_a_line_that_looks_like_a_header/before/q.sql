a
-- old
b
