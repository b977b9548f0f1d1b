"""Takes a program its owner's rights by naming its owner anew."""

os.chown(os.path.join(at.home, "bin/tool"), os.getuid(), -1)
